import type { EventKind } from '../../src/events/kinds.ts'
import { newUuid } from '../../src/lib/id.ts'
import { nowUs } from '../../src/lib/time.ts'
import type { Store } from '../../src/store/store.ts'
import { run } from './app.ts'
import { storeEvents } from './store.ts'

/** Settings of a service under load: a short schedule with many attempts, so that nothing expires on a slow machine. */
export const SERVE = ['--allow-net', 'loopback', '--retry-schedule', `${'500ms,'.repeat(40)}1h`]

const ACCOUNT = 1
const EVENTS_A_CALL = 6

/** An event that was committed. */
export type EmittedEvent = { readonly uuid: string; readonly call: string; readonly sequence: number }

/**
 * Commits calls of six events each, one event of eight calls at a time, through a second connection to the store, as everything does
 * that works beside the service; until it is stopped: then it ends the calls that are up.
 */
export function startLoad(store: Pick<Store, 'calls'>, pauseMs = 4) {
  const committed: EmittedEvent[] = []
  let running = true
  let refused = 0
  const done = (async () => {
    for (let round = 0; running; round += 1) {
      for (let sequence = 1; sequence <= EVENTS_A_CALL; sequence += 1) {
        const atUs = nowUs()
        const events = Array.from({ length: 8 }, (_, n) => {
          const uuid = newUuid(atUs)
          const call = `call ${round} ${n}`
          const body = JSON.stringify({ time: '', data: { call, sequence } })
          const name: EventKind = sequence === EVENTS_A_CALL ? 'call_saved' : 'call_started'
          return { uuid, callId: call, name, sequence, atUs, body }
        })
        try {
          await storeEvents(store, events, { accountId: ACCOUNT, nowSteadyUs: atUs })
          committed.push(...events.map(({ uuid, callId }) => ({ uuid, call: callId, sequence })))
        } catch {
          // Refused, so nothing of it may count; the event is emitted again, as the tracker would.
          refused += 1
          sequence -= 1
        }
        await Bun.sleep(pauseMs)
      }
    }
  })()
  return {
    committed,
    refused: () => refused,
    async stop() {
      running = false
      await done
    },
  }
}

type Verdict = { stored: number; lost: number; duplicated: number; reordered: number }

/**
 * Compares the committed events with the events that a receiver got.
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
