import { expect, test } from 'bun:test'
import { type Dialler, groupsOf, type Ring, type Shown } from '../../../../src/calls/tracker/picture/groups.ts'

/**
 * A ring as words: `101 by A@600 at 0-9` (for A, dialled from its extension 600), `101 by h1;2@701 by A@600 at 0-` (behind
 * a virtual half, and ringing still), `101 by A@600 at 0-9 in queue`.
 */
function ringOf(words: string): Ring {
  const [dialled = '', times = '', queue = null] = words.split(/ at | in /)
  const [stage = '', ...by] = dialled.split(' by ')
  const chain: Dialler[] = by.map((one) => {
    const [channel = '', place = null] = one.split('@')
    return { channel, isHalf: channel.includes(';'), place, isPlaceReported: place !== null, awaitsPlace: false }
  })
  const [from = 0, until = 0] = times.split('-').map(Number)
  const end = times.endsWith('-') ? null : { us: until, seq: 0 }
  return {
    stage,
    source: 'A',
    chain,
    queue,
    from: { us: from, seq: 0 },
    until: end,
    over: end,
    isAnswered: false,
    isWeak: false,
  }
}

const shownBy = (channel: string, place: string, us: number): Shown => ({
  channel,
  place,
  from: { us, seq: 0 },
  until: null,
  isNewAttempt: true,
})

/** The groups as words: `600(701(101 102) 103) 104`. */
function treeOf(rings: readonly Ring[], shown: readonly Shown[]): string {
  const { groups, innermost } = groupsOf(rings, shown)
  const inside = (around: (typeof groups)[number] | null): string =>
    [
      ...groups.filter((one) => one.around === around).map((one) => `${one.target}(${inside(one)})`),
      ...rings.filter(({ stage }) => (innermost.get(stage) ?? null) === around).map(({ stage }) => stage),
    ]
      .toSorted()
      .join(' ')
  return inside(null)
}

test.each([
  ['one phone is no group', ['101 by A@600 at 0-9'], [], '101'],
  ['two at the same time are', ['101 by A@600 at 0-9', '102 by A@600 at 1-9'], [], '600(101 102)'],
  ['one after the other is none', ['101 by A@600 at 0-4', '102 by A@600 at 5-9'], [], '101 102'],
  ['each with the next', ['101 by A@600 at 0-4', '102 by A@600 at 3-7', '103 by A@600 at 6-9'], [], '600(101 102 103)'],
  ['two places are two groups', ['101 by A@600 at 0-', '102 by A@700 at 1-'], [], '101 102'],
  [
    'behind halves, at the extension that dials the halves',
    ['101 by h1;2@101 by A@600 at 0-', '102 by h2;2@102 by A@600 at 0-'],
    [],
    '600(101 102)',
  ],
  ['the extension behind one half', ['101 by h;2@601 by A@s at 0-', '102 by h;2@601 by A@s at 0-'], [], '601(101 102)'],
  [
    'a group in a group',
    ['101 by h;2@601 by A@600 at 0-', '102 by h;2@601 by A@600 at 0-', '103 by A@600 at 0-'],
    [],
    '600(103 601(101 102))',
  ],
  ['a queue is no group', ['101 by h1;2@101 at 0- in q', '102 by h2;2@102 at 0- in q'], [], '101 102'],
  [
    'a group in a queue',
    ['101 by h;2@601 at 0- in q', '102 by h;2@601 at 0- in q', '103 by i;2@103 at 0- in q'],
    [],
    '103 601(101 102)',
  ],
  ['shown: one is enough', ['101 by A@600 at 0-'], [shownBy('A', '600', 0)], '600(101)'],
  ['shown later', ['101 by A@600 at 0-9', '102 by A@600 at 1-'], [shownBy('A', '600', 12)], '600(101 102)'],
  [
    'shown, one after the other',
    ['101 by A@600 at 0-4', '102 by A@600 at 5-'],
    [shownBy('A', '600', 0)],
    '600(101 102)',
  ],
  [
    'shown again when all gave up: two attempts',
    ['101 by A@600 at 0-4', '102 by A@600 at 6-'],
    [shownBy('A', '600', 0), shownBy('A', '600', 5)],
    '600(101) 600(102)',
  ],
  [
    'a page: the pager rings the phones, one of which refused before',
    ['101 by P@700 at 0-1', '102 by P@700 at 2-', '103 by P@700 at 3-'],
    [shownBy('P', '700', 0)],
    '700(101 102 103)',
  ],
  ['answered in a gap: the extension is shown', ['101 by A@600 at 7-'], [shownBy('A', '600', 7)], '600(101)'],
] as const)('%s', (_, rings, shown, tree) => {
  expect(treeOf(rings.map(ringOf), shown)).toBe(tree)
  // Whatever the order in which they became known.
  expect(treeOf(rings.toReversed().map(ringOf), shown)).toBe(tree)
})
