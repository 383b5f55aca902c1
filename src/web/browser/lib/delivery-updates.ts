import type { Call, Delivery } from './resources.ts'

/**
 * Updates a list of deliveries, the newest first, with the deliveries of the stream: listed deliveries change in place,
 * new deliveries are counted and not inserted, so that nothing moves while the user reads. Pure.
 */
export type DeliveryFilters = Readonly<
  Partial<Record<'state' | 'event' | 'url' | 'call_id' | 'number' | 'since' | 'until', string | undefined>>
>

/**
 * Returns the parameter for a search for a value of the body, such as `call.result=busy`; `null` for any other search.
 */
export function bodySearchOf(q: string | undefined): Readonly<Record<string, string>> | null {
  const { 1: path, 2: value } = /^(?:body\.|data\.)?([a-z]\w*(?:\.\w+)*) ?= ?(.+)$/i.exec(q ?? '') ?? []
  return path === undefined || value === undefined ? null : { [`body.${path}`]: value }
}

/** Returns the listed deliveries as they are after these changes; the very same list if none of them changed. */
export function updateDeliveries(items: readonly Delivery[], changes: readonly Delivery[]): readonly Delivery[] {
  const byId = new Map(changes.map((delivery) => [delivery.id, delivery]))
  if (!items.some((item) => byId.has(item.id))) return items
  return items.map((item) => byId.get(item.id) ?? item)
}

/** Returns the ids of the deliveries that are newer than all listed ones and match the filters. */
export function newDeliveries(
  items: readonly Delivery[],
  changes: readonly Delivery[],
  matches: (delivery: Delivery) => boolean,
): string[] {
  // Times of one format, to the microsecond: text has their order.
  const newest =
    items
      .map((item) => item.created_at)
      .sort()
      .at(-1) ?? ''
  return changes.filter((delivery) => delivery.created_at > newest && matches(delivery)).map(({ id }) => id)
}

/** Returns whether a delivery matches the filters. `call` is its call, if it is known: the number is the call's. */
export function matchesFilters(filters: DeliveryFilters, delivery: Delivery, call: Call | undefined): boolean {
  const { state, event, url, call_id: callId, number, since, until } = filters
  return (
    (state === undefined || delivery.state === state) &&
    (event === undefined || delivery.event === event) &&
    (url === undefined || delivery.url === url) &&
    (callId === undefined || delivery.call_id?.endsWith(callId.toLowerCase()) === true) &&
    (number === undefined || call?.from.number === number || call?.to.number === number) &&
    (since === undefined || Date.parse(delivery.created_at) >= Date.parse(since)) &&
    (until === undefined || Date.parse(delivery.created_at) < Date.parse(until))
  )
}
