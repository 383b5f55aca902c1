import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { asRecorded, asteriskEvents, type Block, type Change } from '../help/asterisk-recording.ts'
import { CONTINUES } from '../help/continues.ts'
import { differences } from '../help/expected-compare.ts'
import { unknown } from '../help/known-differences.ts'
import { FIXTURES, readExpectedFile } from '../help/recording.ts'

const names = readdirSync(join(FIXTURES, 'asterisk'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))

const header = (text: string, name: string): string => new RegExp(`^${name}: (.*?)\\r?$`, 'm').exec(text)?.[1] ?? ''

/** Events of different threads of Asterisk overtake each other by that at most. */
const RACE_MS = 100

/** Asterisk 13 may report that a phone rings before it reports that it was dialled. */
function ringingFirst(blocks: readonly Block[]): Block[] {
  const changed = [...blocks]
  for (const block of blocks) {
    if (!block.text.startsWith('Event: Newstate') || header(block.text, 'ChannelState') !== '5') continue
    const id = header(block.text, 'Uniqueid')
    const dial = changed.findIndex(
      ({ text }) => text.startsWith('Event: DialBegin') && header(text, 'DestUniqueid') === id,
    )
    const from = changed.indexOf(block)
    const before = changed[dial]
    if (before === undefined || dial > from || block.atMs - before.atMs > RACE_MS) continue
    changed.splice(from, 1)
    const stamp = `Timestamp: ${header(before.text, 'Timestamp')}`
    changed.splice(dial, 0, { text: block.text.replace(/^Timestamp: [\d.]+/m, stamp), atMs: before.atMs })
  }
  return changed
}

/** chan_sip reports a caller as Down at first, and at once as Ring. */
const downFirst: Change = (blocks) =>
  blocks.flatMap((block) => {
    const isCaller = block.text.startsWith('Event: Newchannel') && header(block.text, 'ChannelState') === '4'
    if (!isCaller || header(block.text, 'Channel').startsWith('Local/')) return [block]
    const down = block.text.replace('ChannelState: 4', 'ChannelState: 0').replace('Desc: Ring', 'Desc: Down')
    return [
      { ...block, text: down },
      { ...block, text: block.text.replace('Event: Newchannel', 'Event: Newstate') },
    ]
  })

/** A busy PBX may take this long from the end of the other phones' dials to the report of the answer. */
const ANSWER_MS = 1_500

/** A PBX that runs a subroutine for the phone that answered, or is busy, reports the answer late. */
const lateAnswers: Change = (blocks) => {
  let laterMs = 0
  return blocks.map(({ text, atMs }) => {
    if (text.startsWith('Event: DialEnd') && header(text, 'DialStatus') === 'ANSWER') laterMs += ANSWER_MS
    return { text, atMs: atMs + laterMs }
  })
}

/** Returns the differences between events and what a recording expects, without those that are known. */
const differ = (events: ReturnType<typeof asteriskEvents>, name: string, facts: 'all' | 'untimed' | 'none'): string =>
  unknown(
    `asterisk/${name}`,
    differences(
      events.map(({ body }) => body),
      readExpectedFile(`asterisk/${name}`),
      { all: true, facts },
    ),
  ).join('\n')

describe.each([
  ['as recorded', asRecorded, 'all'],
  // A first phone that is emitted before the second is dialled shows no group yet.
  ['with phones that ring before their dial', ringingFirst, 'none'],
  ['with callers that are Down at first', downFirst, 'all'],
  ['with answers that are reported late', lateAnswers, 'none'],
] as const)('%s', (_, change, facts) => {
  test.each(names)('%s gives its events', (name) => {
    const second = CONTINUES[name]
    const events = asteriskEvents(second === undefined ? [name] : [name, second], change)
    expect(differ(events, name, facts)).toBe('')
  })
})

test('a phone that declines is rejected, however late a busy PBX reports the end of its channel', () => {
  const lateEnds: Change = (blocks) =>
    blocks
      .map((block) => {
        const isEnd = block.text.startsWith('Event: Hangup\r') && header(block.text, 'Channel').startsWith('PJSIP/108')
        return isEnd ? { ...block, atMs: block.atMs + 2000 } : block
      })
      .toSorted((a, b) => a.atMs - b.atMs)
  const events = asteriskEvents(['two-devices-declined'], lateEnds)
  expect(differ(events, 'two-devices-declined', 'untimed')).toBe('')
})

test('a consultation that began unseen is made for the call in which the same extension talks', () => {
  const [first, asked] = asteriskEvents(['unseen-consultation']).flatMap(({ body: { data } }) =>
    data.name === 'call_started' ? [data.call] : [],
  )
  expect(first?.parent_id).toBeNull()
  expect(asked).toMatchObject({ parent_id: first?.id, from: { extension: '101' } })
})

test.each([
  [
    'a follow-me has the phone that it rings before the others, and again with them, once',
    'follow-me-rings-own-phone-first',
    ['107', '102'],
  ],
  [
    'a group has no phone from which the caller was moved to it',
    'redirect-while-ringing-into-named-group',
    ['101', '102'],
  ],
])('%s', (_, name, targets) => {
  const stages = asteriskEvents([name]).flatMap(({ body: { data } }) => (data.name === 'call_saved' ? data.stages : []))
  const groups = stages.filter(({ kind }) => kind === 'group')
  const members = stages.filter(({ parent_id: parent }) => parent !== null && parent === groups[0]?.id)
  expect(groups).toHaveLength(1)
  expect(members.map(({ target }) => target)).toEqual(targets)
})

test.each([-5, 5, 10, 15])('a target of a transfer by feature code is given up after 15 s and %d s', (laterS) => {
  const name = 'atx-consultation-timeout'
  const otherTimeout: Change = (blocks) => {
    const rings = blocks.findIndex(({ atMs }, at) => (blocks[at + 1]?.atMs ?? 0) - atMs > 10_000)
    return blocks.map((block, at) => {
      if (at <= rings) return block
      const text = block.text.replace(/^Timestamp: ([\d.]+)/m, (_, stamp) => `Timestamp: ${Number(stamp) + laterS}`)
      return { text, atMs: block.atMs + laterS * 1_000 }
    })
  }
  expect(differ(asteriskEvents([name], otherTimeout), name, 'untimed')).toBe('')
})
