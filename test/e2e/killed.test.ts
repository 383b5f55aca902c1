import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { CallEvent } from '../../src/events/bodies.ts'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../help/app.ts'
import { createLedger } from '../help/ledger.ts'
import { fixture } from '../help/pbx.ts'
import { until } from '../help/receiver.ts'
import { startWatched } from '../help/watched.ts'

// The service is killed in mid-call and started again: the calls go on under their ids, and come to one end each.

/** Recordings, and a moment of each at which a phone has answered. There time stops until the service was killed. */
const HOLD_AT_MS: Readonly<Record<string, number>> = {
  'b-inbound-callee-hangup.ami': 3_000,
  'l2-attended-transfer-refer.ami': 6_500,
  'i-queue.ami': 9_000,
  'queue.esl': 8_500,
  'attended-transfer.esl': 6_000,
}
const NAMES = Object.keys(HOLD_AT_MS)
const SPEED = 4

const folder = emptyFolder()
const stops: (() => Promise<void>)[] = []
let watched: Awaited<ReturnType<typeof startWatched>>
let before: CallEvent['body'][] = []

const saved = (): Set<string> =>
  new Set(watched.bodies().flatMap(({ data }) => (data.name === 'call_saved' ? data.call.id : [])))
const merged = (): Set<string> => new Set(watched.bodies().flatMap(({ data }) => data.call.merged_from))

beforeAll(async () => {
  const { promise: killed, resolve: goOn } = Promise.withResolvers<void>()
  const replays = Object.entries(HOLD_AT_MS).map(([name, atMs]) =>
    startReplay({ files: [fixture(name)], speed: SPEED, holds: [{ atMs, until: killed }] }),
  )
  stops.push(...replays.map((replay) => () => replay.stop()))
  const urls = NAMES.map((name, index) => {
    const scheme = name.endsWith('.ami') ? 'ami' : 'esl'
    return `${scheme}://${scheme === 'ami' ? 'any' : ''}:any@127.0.0.1:${replays[index]?.port}?name=${name}`
  })
  watched = await startWatched(folder.path, urls)
  stops.unshift(() => watched.stop())
  const answered = () =>
    new Set(watched.bodies().flatMap(({ data }) => (data.name === 'dial_answered' ? data.pbx : [])))
  await until('a phone has answered at each PBX', () => answered().size === NAMES.length)
  before = watched.bodies()
  await watched.kill()
  goOn()
  await Promise.all(replays.map((replay) => replay.finished))
  const all = () => [...new Set(watched.bodies().map(({ data }) => data.call.id))]
  await until('every call comes to its end', () => all().every((id) => saved().has(id) || merged().has(id)))
})

afterAll(async () => {
  for (const stop of stops) await stop()
  folder[Symbol.dispose]()
})

test('no call lives on, none ends twice, and no stage does', () => {
  const ledger = createLedger()
  const calls = Object.values(Object.groupBy(watched.bodies(), ({ data }) => data.call.id))
  // Events of different calls may have changed places on their way; a merged call ends before the other one continues.
  const isMerged = (bodies: CallEvent['body'][]): boolean => merged().has(bodies[0]?.data.call.id ?? '')
  const ordered = calls.flatMap((one = []) => [one.toSorted((x, y) => x.data.sequence - y.data.sequence)])
  for (const body of [...ordered.filter(isMerged), ...ordered.filter((one) => !isMerged(one))].flat()) {
    const { id, name, sequence, call } = body.data
    ledger.take([{ id, name, callId: call.id, sequence, atUs: 0, body }])
  }
  ledger.finish()
  expect(watched.faults()).toEqual([])
})

test('the calls that were up keep their ids', () => {
  const open = new Set(before.map(({ data }) => data.call.id))
  for (const { data } of before) if (data.name === 'call_saved') open.delete(data.call.id)
  for (const id of merged()) open.delete(id)
  expect(open.size).toBeGreaterThanOrEqual(NAMES.length)
  expect([...open].filter((id) => !saved().has(id))).toEqual([])
})
