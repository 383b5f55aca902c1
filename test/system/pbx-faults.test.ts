import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { type Database, openDatabase } from '../../src/store/sqlite/engine/database.ts'
import { prepared } from '../../src/store/sqlite/engine/prepared.ts'
import { emptyFolder } from '../help/app.ts'
import { allArrived, type EmittedEvent, idsOf, judge, report, storedIn, verified } from '../help/load.ts'
import { until } from '../help/receiver.ts'
import { fileOf, readRecording } from '../help/recording.ts'
import { seededRandom } from '../help/seed.ts'
import { startWatched } from '../help/watched.ts'

const random = seededRandom(20_261_123)

/** PBXs with many calls at a time, and how much faster than it was each recording is played. */
const PLAYED = [
  ...Array.from({ length: 6 }, () => ['asterisk/s-load', 3] as const),
  ['asterisk/l-attended-transfer', 4],
  ['freeswitch/concurrent', 6],
  ['freeswitch/queue-json', 4],
] as const
const KILLS = 8

/** Plays a recording in pieces, one for each kill and one for the rest: so there is something to play at every one of them. */
function startInPieces(name: string, speed: number, kills: readonly Promise<void>[]): ReturnType<typeof startReplay> {
  const chunks = readRecording(name)
  const holds = kills.map((until, kill) => {
    const chunk = chunks[Math.floor(((kill + 1) * chunks.length) / (kills.length + 1))]
    return { atMs: chunk?.atMs ?? 0, until }
  })
  return startReplay({ files: [fileOf(name)], speed, holds })
}

const callsUp = (db: Database): unknown[] => prepared<object, []>(db.read, 'SELECT * FROM live_calls').all()

/** The sequences of each call that are not 1, 2, 3 and so on. */
function gaps(emitted: readonly EmittedEvent[]): string[] {
  const calls = [...Map.groupBy(emitted, ({ call }) => call).entries()]
  return calls.flatMap(([call, events]) => {
    const sequences = events.map(({ sequence }) => sequence)
    return sequences.every((one, at) => one === at + 1) ? [] : `${call}: ${sequences.join(' ')}`
  })
}

test('kill -9 under the load of PBXs loses and reorders nothing that was stored', async () => {
  using folder = emptyFolder()
  const kills = Array.from({ length: KILLS }, () => Promise.withResolvers<void>())
  const over = kills.map(({ promise }) => promise)
  const replays = PLAYED.map(([name, speed]) => startInPieces(name, speed, over))
  const urls = replays.map(({ url }, index) => `${url}?name=${index}`)
  const watched = await startWatched(folder.path, urls)
  const { receiver } = watched
  const db = openDatabase(join(folder.path, 'data/hookswitch.db'))
  try {
    for (const { resolve } of kills) {
      const before = receiver.received.length
      await until('events come', () => receiver.received.length > before)
      await Bun.sleep(random.int(300))
      await watched.kill()
      resolve()
    }
    await Promise.all(replays.map(({ finished }) => finished))
    await until(
      'every call is over',
      () => callsUp(db).length === 0,
      () => [...callsUp(db).map((call) => JSON.stringify(call)), watched.output()].join('\n'),
    )
    await until('all have arrived', () => allArrived(storedIn(folder.path), idsOf(receiver.received)))
    const emitted = storedIn(folder.path)
    const verdict = judge(emitted, idsOf(receiver.received))
    report(`kill -9, ${KILLS} times, under the load of PBXs`, verdict)
    expect(verdict).toMatchObject({ lost: 0, reordered: 0 })
    expect(gaps(emitted)).toEqual([])
    expect(receiver.received.filter(({ id }) => !emitted.some(({ uuid }) => uuid === id))).toEqual([])
    expect(await verified(folder.path)).toBe('The store is complete and consistent.')
    expect(watched.faults()).toEqual([])
  } finally {
    await watched.stop()
    await db.stop()
    await Promise.all(replays.map((replay) => replay.stop()))
  }
})
