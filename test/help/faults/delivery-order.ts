/** A request as its receiver has it in its own record. */
export type Arrival = {
  /** The header `webhook-id`: which event it is. */
  readonly id: string
  readonly atMs: number
  /** The status of the answer; `undefined` if the sender had given up before it. */
  readonly status: number | undefined
  readonly bodyHash: number | bigint
}

type SentEvent = { readonly uuid: string; readonly call: string; readonly sequence: number }

/** A request that failed, as the log of attempts has it. */
type FailedAttempt = { readonly uuid: string; readonly endedMs: number }

export type Deliveries = {
  /** The requests that one receiver got, in its order. */
  readonly arrivals: readonly Arrival[]
  readonly events: readonly SentEvent[]
  /** Failed attempts of this receiver's webhook. */
  readonly failed: readonly FailedAttempt[]
  /** An event is not tried before the one before it is delivered; else not before that was tried. */
  readonly isStrict: boolean
  /** Returns whether something was done to the nodes or the database then, after which a request may be repeated. */
  readonly mayRepeat: (fromMs: number, toMs: number) => boolean
}

/** Both are on one machine, in whole milliseconds. */
const CLOCKS_MS = 2

const isSuccess = ({ status }: Arrival): boolean => status !== undefined && status >= 200 && status <= 299

/**
 * Returns the faults in a receiver's own record: events that are missing, repeated without a reason, changed, never
 * stored, or in a wrong order within their call.
 *
 * The order of two events of a call: in strict order the later one never arrives before the earlier one was accepted.
 * In the usual order it arrives after the earlier one arrived, or after a failed attempt of the earlier one that the
 * log shows: such an attempt may not have reached the receiver.
 */
export function wrongDeliveries(deliveries: Deliveries): string[] {
  const { arrivals, events } = deliveries
  const places = newPlaces(arrivals)
  const known = new Set(events.map(({ uuid }) => uuid))
  const unknown = [...places.keys()].filter((id) => !known.has(id)).map((id) => `${id} is no event that was stored`)
  const missing = events.flatMap(({ uuid, call, sequence }) =>
    places.get(uuid)?.some(({ arrival }) => isSuccess(arrival)) ? [] : `${uuid} was lost: event ${sequence} of ${call}`,
  )
  const changed = [...places].flatMap(([id, of]) =>
    new Set(of.map(({ arrival }) => arrival.bodyHash)).size > 1 ? `${id} came with several bodies` : [],
  )
  const calls = Map.groupBy(events, ({ call }) => call)
  const disordered = [...calls.values()].flatMap((ofCall) => disorderOf(ofCall, places, deliveries))
  return [...unknown, ...missing, ...changed, ...repeatsOf(places, deliveries), ...disordered]
}

/** Returns how many requests were accepted that had been accepted before. */
export function countRepeats(arrivals: readonly Arrival[]): number {
  const accepted = arrivals.filter(isSuccess)
  return accepted.length - new Set(accepted.map(({ id }) => id)).size
}

type Place = { readonly at: number; readonly arrival: Arrival }
type Places = ReadonlyMap<string, readonly Place[]>

function newPlaces(arrivals: readonly Arrival[]): Places {
  return Map.groupBy(
    arrivals.map((arrival, at) => ({ at, arrival })),
    ({ arrival }) => arrival.id,
  )
}

function repeatsOf(places: Places, { mayRepeat }: Deliveries): string[] {
  return [...places].flatMap(([id, of]) => {
    const accepted = of.filter(({ arrival }) => isSuccess(arrival)).map(({ arrival }) => arrival.atMs)
    const again = accepted.findIndex((atMs, nth) => nth > 0 && !mayRepeat(accepted[nth - 1] ?? atMs, atMs))
    if (again === -1) return []
    const times = [accepted[again - 1] ?? 0, accepted[again] ?? 0].map((atMs) => new Date(atMs).toISOString())
    return `${id} was accepted, and sent again for no reason: at ${times.join(' and ')}`
  })
}

function disorderOf(ofCall: readonly SentEvent[], places: Places, { failed, isStrict }: Deliveries): string[] {
  const failures = Map.groupBy(failed, ({ uuid }) => uuid)
  const inOrder = ofCall.toSorted((one, other) => one.sequence - other.sequence)
  return inOrder.flatMap((later, nth) => {
    const first = places.get(later.uuid)?.[0]
    if (first === undefined) return []
    const overtaken = inOrder.slice(0, nth).filter(({ uuid }) => {
      const [came] = (places.get(uuid) ?? []).filter(({ arrival }) => !isStrict || isSuccess(arrival))
      if (came !== undefined && came.at < first.at) return false
      const hasFailed = failures.get(uuid)?.some(({ endedMs }) => endedMs <= first.arrival.atMs + CLOCKS_MS)
      return isStrict || hasFailed !== true
    })
    return overtaken.map(
      ({ uuid, sequence }) => `event ${later.sequence} of ${later.call} came before event ${sequence} (${uuid})`,
    )
  })
}
