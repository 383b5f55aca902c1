import type { Database } from '../db/database.ts'
import type { Log } from '../lib/log.ts'
import type { Item } from './line.ts'
import { ENDED_FIELDS, type Ended, recordEnded } from './record-store.ts'

/** Outcomes that are not on disk yet: beyond this no more attempts begin, so that a store that cannot be written bounds memory. */
const MAX_UNRECORDED = 4_096
const AGAIN_MS = 250
/** How long stopping waits for a store that cannot be written. */
const LAST_TRY_MS = 5_000

export type RecorderOptions = {
  readonly db: Database
  readonly log: Log
  /** These are on disk now; of those `overtaken` something else was asked for meanwhile. */
  readonly recorded: (items: readonly Item[], overtaken: readonly number[]) => void
}

/** Writes what came of attempts, as one mutation for all that came while the last commit ran, and until the store takes it. */
export function createRecorder({ db, log, recorded }: RecorderOptions) {
  let waiting: Item[] = []
  /** What came of each of `waiting`, one after the other. */
  let outcomes: Ended[number][] = []
  let writing = 0
  let broken = false
  let giveUpAtMs = Number.POSITIVE_INFINITY
  let idle: (() => void) | undefined

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const [items, flat] = [waiting, outcomes]
      waiting = []
      outcomes = []
      writing = items.length
      const overtaken = await untilTaken(flat)
      writing = 0
      recorded(items, overtaken)
    }
    idle?.()
  }

  async function untilTaken(flat: readonly Ended[number][]): Promise<readonly number[]> {
    for (;;) {
      try {
        const overtaken = await db.commit(recordEnded, flat)
        if (broken) log.info('the store takes outcomes again')
        broken = false
        return overtaken
      } catch (error) {
        if (!broken)
          log.error({ err: error }, 'the store cannot be written: sending waits, outcomes are kept in memory')
        broken = true
        if (performance.now() > giveUpAtMs) {
          log.error(
            { outcomes: flat.length / ENDED_FIELDS },
            'stopping: outcomes are not on disk, those are sent again',
          )
          return []
        }
        await Bun.sleep(AGAIN_MS)
      }
    }
  }

  return {
    add(item: Item, ended: Ended): void {
      waiting.push(item)
      outcomes.push(...ended)
      if (writing > 0 || waiting.length > 1) return
      queueMicrotask(() => void write())
    },
    /** Whether attempts must wait: what they would tell could not be written down. */
    congested: () => broken || waiting.length + writing > MAX_UNRECORDED,
    async stop(): Promise<void> {
      if (writing === 0 && waiting.length === 0) return
      giveUpAtMs = performance.now() + LAST_TRY_MS
      const { promise, resolve } = Promise.withResolvers<void>()
      idle = resolve
      await promise
    },
  }
}
