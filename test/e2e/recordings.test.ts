import { beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../src/events/bodies.ts'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../help/app.ts'
import { CONTINUES } from '../help/continues.ts'
import { blocksOf } from '../help/expected.ts'
import { differences } from '../help/expected-compare.ts'
import { readExpected } from '../help/expected-file.ts'
import { unknown } from '../help/known-differences.ts'
import { misfit } from '../help/ledger.ts'
import { fixture } from '../help/pbx.ts'
import { until } from '../help/receiver.ts'
import { FIXTURES, readExpectedFile } from '../help/recording.ts'
import { startWatched } from '../help/watched.ts'

// Plays every recording at once and in real time, each as a separate PBX: over TCP, through the executable, to a
// receiver.

type Body = CallEvent['body']
type Case = { name: string; folder: string; files: string[]; scheme: string }

/**
 * The replay answers a list by what the events before it say. Where a list shows what happened while no connection
 * stood, no event says it: those recordings are played in process, with the lists that the PBX gave (calls/asterisk.test.ts).
 * A list may show more of a caller whose events cannot be trusted, so those are played without one.
 */
const isOfList = (name: string): boolean =>
  (name.startsWith('gap-') && CONTINUES[name] !== undefined) || name.startsWith('unseen-caller')

const cases: Case[] = (['asterisk', 'freeswitch'] as const).flatMap((folder) => {
  const extension = folder === 'asterisk' ? 'ami' : 'esl'
  return readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith('.expected'))
    .map((file) => file.replace('.expected', ''))
    .filter((name) => !isOfList(name))
    .map((name) => ({
      name,
      folder,
      scheme: extension,
      files: [name, ...(CONTINUES[name] === undefined ? [] : [CONTINUES[name]])].map((one) =>
        fixture(`${one}.${extension}`),
      ),
    }))
})

const pbxOf = ({ folder, name }: Case): string => `${folder}-${name}`
const expectedOf = ({ folder, name }: Case): string => readExpectedFile(`${folder}/${name}`)
/** How many calls of each PBX come to their end: some recordings end while a call is up. */
const SAVED = new Map(
  cases.map((one) => {
    const lines = readExpected(expectedOf(one)).flatMap(({ runs }) => runs.flat())
    return [pbxOf(one), lines.filter(({ words }) => words.startsWith('call_saved')).length]
  }),
)

/** Returns whether each PBX has ended as many calls as its recordings have. */
function isOver(some: readonly Case[], bodies: readonly Body[]): boolean {
  const saved = new Map<string, Set<string>>()
  for (const { data } of bodies)
    if (data.name === 'call_saved') saved.set(data.pbx, (saved.get(data.pbx) ?? new Set()).add(data.call.id))
  return some.map(pbxOf).every((pbx) => (saved.get(pbx)?.size ?? 0) >= (SAVED.get(pbx) ?? 0))
}

/** After this long without an event, missing ones do not come either. */
const QUIET_MS = 20_000

type Played = { readonly bodies: readonly Body[]; readonly faults: readonly string[] }

/** Plays recordings at once, to a service and a receiver of their own. */
async function play(some: readonly Case[]): Promise<Played> {
  using folder = emptyFolder()
  const replays = some.map(({ files }) => startReplay({ files }))
  const urls = some.map((one, index) => {
    const user = one.scheme === 'ami' ? 'any' : ''
    return `${one.scheme}://${user}:any@127.0.0.1:${replays[index]?.port}?name=${pbxOf(one)}`
  })
  const watched = await startWatched(folder.path, urls)
  await Promise.all(replays.map((replay) => replay.finished))
  const isQuiet = () => performance.now() - (watched.receiver.received.at(-1)?.atMs ?? 0) > QUIET_MS
  await until('every call comes to its end', () => isOver(some, watched.bodies()) || isQuiet())
  await watched.stop()
  for (const replay of replays) await replay.stop()
  return { bodies: watched.bodies(), faults: watched.faults() }
}

/** Times differ: the replay leaves out the seconds between two connections, and an old PBX stamps no event. */
const compared = (one: Case, { bodies }: Played): string[] =>
  unknown(
    `${one.folder}/${one.name}`,
    differences(
      bodies.filter(({ data }) => data.pbx === pbxOf(one)),
      expectedOf(one),
      { facts: 'untimed' },
    ),
  )

/** A machine that stops for a moment plays, and hears, what never happened so: that is played again, with less beside it. */
const TIMES = 5
const played: Played[] = []
const lastPlayed = new Map<Case, Played>()

beforeAll(async () => {
  let left: readonly Case[] = cases
  for (let time = 1; left.length > 0 && time <= TIMES; time += 1) {
    if (time > 1) console.log(`played again: ${left.map(pbxOf).join(', ')}`)
    const now = await play(left)
    played.push(now)
    for (const one of left) lastPlayed.set(one, now)
    left = left.filter((one) => compared(one, now).length > 0)
  }
})

test.each(cases.map((one) => [pbxOf(one), one] as const))('%s reaches the receiver as it happened', (_, one) => {
  expect(compared(one, lastPlayed.get(one) ?? { bodies: [], faults: [] }).join('\n')).toBe('')
})

test('every body fits its schema, is signed, and came in the order of its call', () => {
  const bodies = played.flatMap((one) => one.bodies)
  expect(bodies.flatMap((body) => misfit(body.data.name, body) ?? [])).toEqual([])
  expect(played.flatMap(({ faults }) => faults)).toEqual([])
  const sequences = new Map<string, number[]>()
  for (const { data } of bodies) sequences.set(data.call.id, [...(sequences.get(data.call.id) ?? []), data.sequence])
  for (const came of sequences.values()) expect(came).toEqual(came.map((_, index) => index + 1))
  expect(blocksOf(bodies).length).toBeGreaterThan(cases.length)
})
