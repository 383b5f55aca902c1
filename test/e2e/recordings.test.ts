import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../src/calls/event.ts'
import { startReplay } from '../../src/pbx/replay/replay.ts'
import { emptyFolder } from '../help/app.ts'
import { CONTINUES } from '../help/continues.ts'
import { blocksOf, compare, readExpected } from '../help/expected.ts'
import { misfit } from '../help/ledger.ts'
import { fixture } from '../help/pbx.ts'
import { until } from '../help/receiver.ts'
import { FIXTURES, readExpectedFile } from '../help/recording.ts'
import { startWatched } from '../help/watched.ts'

// Every recording at once and in real time, each as a PBX of its own: over TCP, through the compiled file, to a receiver.

type Case = { name: string; folder: string; files: string[]; scheme: string }

const cases: Case[] = (['asterisk', 'freeswitch'] as const).flatMap((folder) => {
  const extension = folder === 'asterisk' ? 'ami' : 'esl'
  return readdirSync(join(FIXTURES, folder))
    .filter((file) => file.endsWith('.expected'))
    .map((file) => file.replace('.expected', ''))
    .map((name) => ({
      name,
      folder,
      scheme: extension,
      files: [name, ...(CONTINUES[name] === undefined ? [] : [CONTINUES[name]])].map((one) =>
        fixture(`${one}.${extension}`),
      ),
    }))
})

const folder = emptyFolder()
const byPbx = new Map<string, CallEvent['body'][]>()
const stops: (() => Promise<void>)[] = []
let watched: Awaited<ReturnType<typeof startWatched>>

beforeAll(async () => {
  const replays = cases.map(({ files }) => startReplay({ files }))
  stops.push(...replays.map((replay) => () => replay.stop()))
  const urls = cases.map(({ name, folder: kind, scheme }, index) => {
    const user = scheme === 'ami' ? 'any' : ''
    return `${scheme}://${user}:any@127.0.0.1:${replays[index]?.port}?name=${kind}-${name}`
  })
  watched = await startWatched(folder.path, urls)
  stops.unshift(() => watched.stop())
  await Promise.all(replays.map((replay) => replay.finished))
  // What does not come is said recording by recording.
  await until('every call comes to its end', () => isOver(watched.bodies())).catch(() => {})
  for (const body of watched.bodies()) byPbx.set(body.data.pbx, [...(byPbx.get(body.data.pbx) ?? []), body])
})

afterAll(async () => {
  for (const stop of stops) await stop()
  folder[Symbol.dispose]()
})

/** Of each PBX as many calls are over as are expected: some recordings end while a call is up. */
function isOver(bodies: readonly CallEvent['body'][]): boolean {
  const saved = new Map<string, Set<string>>()
  for (const { data } of bodies)
    if (data.name === 'call_saved') saved.set(data.pbx, (saved.get(data.pbx) ?? new Set()).add(data.call.id))
  return [...SAVED].every(([pbx, count]) => (saved.get(pbx)?.size ?? 0) >= count)
}
const SAVED = new Map(
  cases.map(({ name, folder }) => {
    const lines = readExpected(readExpectedFile(`${folder}/${name}`)).flat(2)
    return [`${folder}-${name}`, lines.filter((line) => line.startsWith('call_saved')).length]
  }),
)

test.each(cases.map((one) => [`${one.folder}-${one.name}`, one] as const))(
  '%s reaches the receiver as it happened',
  (pbx, one) => {
    const bodies = byPbx.get(pbx) ?? []
    const { got, expected } = compare(bodies, readExpectedFile(`${one.folder}/${one.name}`))
    expect(got).toBe(expected)
  },
)

test('every body fits its schema, is signed, and came in the order of its call', () => {
  const bodies = watched.bodies()
  expect(bodies.flatMap((body) => misfit(body.data.name, body) ?? [])).toEqual([])
  expect(watched.faults()).toEqual([])
  const sequences = new Map<string, number[]>()
  for (const { data } of bodies) sequences.set(data.call.id, [...(sequences.get(data.call.id) ?? []), data.sequence])
  for (const came of sequences.values()) expect(came).toEqual(came.map((_, index) => index + 1))
  expect(blocksOf(bodies).length).toBeGreaterThan(cases.length)
})
