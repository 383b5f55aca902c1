import type { CallEvent } from '../../events/bodies.ts'

/**
 * The emitted events of a PBX that are in no batch yet; pure. Waiting events and the state of their live call stay in
 * memory before the commit: after a crash the call is as it was stored last, as if those events had not been emitted.
 *
 * Calls that an event names together are one group, which is stored as a whole or not at all, so that a merged call is
 * never stored without the call that it is part of.
 */
type WaitingEvents = {
  /** Adds an event behind all others. */
  add(event: CallEvent): void
  /** Makes one group of calls that were merged, if any of them has waiting events. */
  unite(callIds: readonly string[]): void
  /** Makes a group wait, with or without events, until `take` is called without its call. */
  hold(callIds: readonly string[]): void
  /**
   * Removes and returns the events of the first groups, in the order in which they were added: some `max` events, more
   * if one group has more. Groups with a call in `held` stay. `hasMore`: there are further groups to take.
   */
  take(max: number, held: ReadonlySet<string>): { readonly events: readonly CallEvent[]; readonly hasMore: boolean }
  /** The calls of the remaining groups. */
  readonly calls: Pick<ReadonlySet<string>, 'has' | 'size'>
  size(): number
}

type Entry = { readonly event: CallEvent; readonly place: number }
type Group = { readonly callIds: Set<string>; readonly entries: Entry[] }

/** Creates the list, empty. */
export function createWaitingEvents(): WaitingEvents {
  const groups = new Set<Group>()
  const groupOf = new Map<string, Group>()
  let size = 0
  let nextPlace = 0

  /** Returns the one group of some calls. */
  function together(callIds: readonly string[]): Group {
    let group: Group | undefined
    for (const id of callIds) {
      const other = groupOf.get(id)
      if (other === undefined || other === group) continue
      if (group === undefined) group = other
      else absorb(group, other)
    }
    group ??= { callIds: new Set(), entries: [] }
    groups.add(group)
    for (const id of callIds) {
      group.callIds.add(id)
      groupOf.set(id, group)
    }
    return group
  }
  function absorb(group: Group, other: Group): void {
    for (const entry of other.entries) group.entries.push(entry)
    for (const id of other.callIds) {
      group.callIds.add(id)
      groupOf.set(id, group)
    }
    groups.delete(other)
  }
  function remove(group: Group): void {
    groups.delete(group)
    for (const id of group.callIds) groupOf.delete(id)
    size -= group.entries.length
  }

  return {
    add(event) {
      together(callsOf(event)).entries.push({ event, place: nextPlace })
      nextPlace += 1
      size += 1
    },
    unite(callIds) {
      if (callIds.some((id) => groupOf.has(id))) together(callIds)
    },
    hold: (callIds) => void together(callIds),
    take(max, held) {
      const heldGroups = new Set([...held].map((id) => groupOf.get(id)))
      const taken: Entry[] = []
      for (const group of groups) {
        if (heldGroups.has(group)) continue
        if (taken.length >= max) return { events: inOrder(taken), hasMore: true }
        for (const entry of group.entries) taken.push(entry)
        remove(group)
      }
      return { events: inOrder(taken), hasMore: false }
    },
    calls: {
      has: (id: string) => groupOf.has(id),
      get size() {
        return groupOf.size
      },
    },
    size: () => size,
  }
}

const inOrder = (entries: Entry[]): CallEvent[] =>
  entries.sort((one, other) => one.place - other.place).map(({ event }) => event)

/** Returns the ids of all calls that an event names, its own included. */
function callsOf({ body: { data } }: CallEvent): string[] {
  const { id, merged_from: mergedFrom, merged_into: mergedInto } = data.call
  const ids = [id, ...mergedFrom]
  if (mergedInto !== null) ids.push(mergedInto)
  if ('transfer' in data && data.transfer.other_call_id !== null) ids.push(data.transfer.other_call_id)
  return ids
}
