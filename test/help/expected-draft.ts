import type { CallEvent } from '../../src/events/bodies.ts'
import { isNotable, matchCalls, matchLines } from './expected-compare.ts'
import type { EventLine } from './expected-facts.ts'

/**
 * Drafts `.expected` in full words from emitted events. A draft says what is emitted, not what is right: someone else
 * reads it against what the PBX sent.
 */
type Body = CallEvent['body']

/** The order in which facts are written. */
const ORDER =
  'name from to did in try consults joins into stage ring wait talk lasts answered handled owner by cause code missed queue ' +
  'transfers recorded direction caller callername called calledname forwarded state stages'
/** Facts that a draft writes although a full block may leave them out. */
const ALWAYS: ReadonlySet<string> = new Set(['state', 'stages', 'at'])

/** The seconds by which another order of the PBX's events may move a time. */
const NEAR = 0.2

/** Returns the text of a block of lines for each call; comments and runs are those of `text`, where it has the same words. */
export function draft(bodies: readonly Body[], text = ''): string {
  const { pairs, unexpected, lines } = matchCalls(bodies, text, true)
  const facts = new Map<number, string>()
  const begins = new Set<number>()
  for (const { block, bodies: own } of pairs) {
    const matched = matchLines({ ...block, isFull: true }, lines(own)) ?? []
    for (const { wanted, got } of matched) facts.set(wanted.at, factsText(got))
    const first = block.runs[0]?.[0]
    if (matched.length > 0 && first !== undefined && !block.isFull) begins.add(first.at)
  }
  const kept = text.split('\n').flatMap((line, index) => {
    const own = facts.get(index + 1)
    const written = own === undefined ? line : joined(line.split(' | ')[0] ?? '', own)
    return begins.has(index + 1) ? ['full', written] : [written]
  })
  const fresh = unexpected.map((own) =>
    ['full', ...lines(own).map((line) => joined(line.words, factsText(line)))].join('\n'),
  )
  return `${[kept.join('\n').trim(), ...fresh].filter((part) => part !== '').join('\n\n')}\n`
}

const joined = (words: string, facts: string): string =>
  facts === '' ? words.trimEnd() : `${words.trimEnd()} | ${facts}`

function factsText(line: EventLine): string {
  const written = Object.entries(line.facts)
    .filter(([key, value]) =>
      ALWAYS.has(key) ? !(key === 'at' && line.words.startsWith('call_started')) : isNotable(key, value, line),
    )
    .toSorted(([a], [b]) => placeOf(a) - placeOf(b))
  return written.map(([key, value]) => `${key} ${precise(key, value, line)}`).join(' ')
}

const placeOf = (key: string): number => {
  const place = ORDER.split(' ').indexOf(key)
  return place < 0 ? ORDER.length : place
}

/** Writes a duration near a whole second with its fraction. */
function precise(key: string, value: string, { exact }: EventLine): string {
  const seconds = exact[key]
  const isNear = seconds !== undefined && Math.abs(seconds - Math.round(seconds)) <= NEAR
  return isNear && value === String(Math.floor(seconds)) ? seconds.toFixed(1) : value
}
