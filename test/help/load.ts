import { join } from 'node:path'
import { startReplay } from '../../src/pbx/tools/replay/replay.ts'
import { connect } from '../../src/store/sqlite/engine/open.ts'
import { run } from './app.ts'
import { until } from './receiver.ts'
import { fileOf } from './recording.ts'

/** Settings of a service under load: a short schedule with many attempts, so that nothing expires on a slow machine. */
export const SERVE = ['--allow-net', 'loopback', '--retry-schedule', `${'500ms,'.repeat(40)}1h`]

/** An event that was committed. */
export type EmittedEvent = { readonly uuid: string; readonly call: string; readonly sequence: number }

/**
 * Starts a PBX that has calls all the time, one round of a recording after the other, once `begin` was called. A service
 * that is started with `pbx` stores their events.
 */
export function startLoad() {
  const { promise: after, resolve: begin } = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fileOf('asterisk/s-load')], speed: 4, againAfterMs: 0, after })
  return { pbx: ['--pbx', `${replay.url}?name=load`], begin, stop: () => replay.stop() }
}

/** Returns the events that the store in this folder has, in the order in which they were stored. */
export function storedIn(folder: string): EmittedEvent[] {
  const connection = connect(join(folder, 'data/hookswitch.db'), 'reader')
  try {
    return connection.query<EmittedEvent, []>('SELECT uuid, call_id AS call, sequence FROM events ORDER BY id').all()
  } finally {
    connection.close()
  }
}

/** Waits until each receiver took all events that the store in this folder has, and returns these. */
export async function allTaken(folder: string, ...takenBy: readonly (() => readonly string[])[]) {
  let stored: readonly EmittedEvent[] = []
  await until('all have arrived', () => {
    stored = storedIn(folder)
    return takenBy.every((taken) => allArrived(stored, taken()))
  })
  return stored
}

type Verdict = { stored: number; lost: number; duplicated: number; reordered: number }

/**
 * Compares the stored events with the events that a receiver got.
 * @param taken the ids that the receiver answered with 2xx, in their order
 * @param tried the ids of all requests, refused ones too: the first attempts of a call come in order
 */
export function judge(committed: readonly EmittedEvent[], taken: readonly string[], tried = taken): Verdict {
  const times = new Map<string, number>()
  for (const id of taken) times.set(id, (times.get(id) ?? 0) + 1)
  const first = new Map([...tried.entries()].toReversed().map(([at, id]) => [id, at]))
  const calls = Map.groupBy(committed, ({ call }) => call)
  const isOrdered = (events: readonly EmittedEvent[]) => {
    const places = events
      .toSorted((one, other) => one.sequence - other.sequence)
      .flatMap(({ uuid }) => first.get(uuid) ?? [])
    return places.every((place, at) => at === 0 || place > (places[at - 1] ?? 0))
  }
  return {
    stored: committed.length,
    lost: committed.filter(({ uuid }) => !times.has(uuid)).length,
    duplicated: [...times.values()].filter((count) => count > 1).length,
    reordered: [...calls.values()].filter((events) => !isOrdered(events)).length,
  }
}

export function report(what: string, verdict: Verdict): void {
  const counts = Object.entries(verdict).map(([name, count]) => `${name} ${count}`)
  console.log(`${what}: ${counts.join(', ')}`)
}

export const allArrived = (committed: readonly EmittedEvent[], taken: readonly string[]): boolean => {
  const ids = new Set(taken)
  return committed.every(({ uuid }) => ids.has(uuid))
}

export const idsOf = (received: readonly { readonly id: string }[]): string[] => received.map(({ id }) => id)

/** Returns the output of `verify` for the store in this folder. */
export const verified = async (cwd: string): Promise<string> => (await run(['verify'], { cwd })).stdout.trim()
