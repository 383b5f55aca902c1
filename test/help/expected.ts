import type { CallEvent, Party } from '../../src/calls/event.ts'
import { isOnlyOnRequest } from '../../src/lib/event-kinds.ts'

/**
 * Events in the words of test/fixtures/*.expected: a block of lines is a call, in the order of `sequence`; a party is its extension, else
 * its number, else `-`.
 */
type Body = CallEvent['body']

const party = (one: Party | null | undefined): string => one?.extension ?? one?.number ?? '-'

export function lineOf(body: Body): string {
  const data = body.data
  switch (data.name) {
    case 'call_started':
      return `call_started ${data.call.direction} ${party(data.call.from)} ${party(data.call.to)}`
    case 'dial_started':
    case 'dial_answered':
      return `${data.name} ${data.stage.kind} ${data.stage.target ?? '-'}`
    case 'dial_ended':
      return `dial_ended ${data.stage.kind} ${data.stage.target ?? '-'} ${data.stage.result}`
    case 'call_blind_transferred':
    case 'call_attended_transferred':
      return `${data.name} by ${party(data.transfer.by)} ${party(data.transfer.transferee)} to ${party(data.transfer.to)}`
    case 'call_ended':
      return `call_ended ${data.call.result} owner ${party(data.call.handled_by.at(-1))}${data.call.partial ? ' partial' : ''}`
    case 'call_missed':
      return `call_missed ${data.call.missed_by.map(party).join(' ') || '-'}`
    case 'call_held':
    case 'call_resumed':
      return `${data.name} by ${party(data.by)}`
    case 'recording_saved':
      return `recording_saved ${data.recording.path ?? '-'}`
    case 'call_saved':
      return `call_saved recordings ${data.recordings.length}`
  }
}

/** Returns one block of lines for each call, ordered by the calls' beginnings. */
export function blocksOf(bodies: readonly Body[]): string[][] {
  const blocks = new Map<string, Body[]>()
  for (const body of bodies) {
    const block = blocks.get(body.data.call.id) ?? []
    block.push(body)
    blocks.set(body.data.call.id, block)
  }
  return [...blocks.values()].map((block) => block.toSorted((a, b) => a.data.sequence - b.data.sequence).map(lineOf))
}

/** Reads a `.expected` file: for each call a list of runs; the lines of a run may come in any order. */
export function readExpected(text: string): string[][][] {
  return text
    .split(/\n\s*\n/)
    .map(readBlock)
    .filter((runs) => runs.length > 0)
}

function readBlock(block: string): string[][] {
  const runs: string[][] = []
  let loose = false
  for (const line of block.split('\n').map((one) => one.trim())) {
    if (line === '' || line.startsWith('#')) {
      loose = false
      continue
    }
    const inRun = line.startsWith('~')
    const words = line.replace(/^~\s*/, '')
    if (inRun && loose) runs.at(-1)?.push(words)
    else runs.push([words])
    loose = inRun
  }
  return runs
}

/** A block of events in the canonical order of the runs that are expected, so that both can be compared as text. */
function canonical(lines: readonly string[], runs: readonly string[][]): string[] {
  const out: string[] = []
  let at = 0
  for (const run of runs) {
    out.push(...lines.slice(at, at + run.length).toSorted())
    at += run.length
  }
  return [...out, ...lines.slice(at)]
}

const ON_REQUEST = /^(~ *)?(?:call_missed|call_held|call_resumed) /

/**
 * Pairs the received events with the expected ones, call by call, as two texts that are equal if all is right. Kinds
 * that only `events` asks for count only with `all`.
 */
export function compare(
  bodies: readonly Body[],
  expectedText: string,
  { all = false } = {},
): { got: string; expected: string } {
  const open = blocksOf(bodies.filter(({ data }) => all || !isOnlyOnRequest(data.name)))
  const lines = expectedText.split('\n')
  const expected = readExpected(lines.filter((line) => all || !ON_REQUEST.test(line.trim())).join('\n'))
  const got: string[] = []
  const want: string[] = []
  for (const runs of expected) {
    const wanted = canonical(runs.flat(), runs)
    const score = (lines: readonly string[]) => {
      const ordered = canonical(lines, runs)
      return ordered.filter((line, index) => line === wanted[index]).length - Math.abs(ordered.length - wanted.length)
    }
    const best = open.toSorted((a, b) => score(b) - score(a))[0]
    if (best !== undefined) open.splice(open.indexOf(best), 1)
    got.push(canonical(best ?? [], runs).join('\n'))
    want.push(wanted.join('\n'))
  }
  got.push(...open.map((lines) => `unexpected:\n${lines.join('\n')}`))
  return { got: got.join('\n\n'), expected: want.join('\n\n') }
}
