import type { SnapshotChannel } from '../../signal.ts'

/** The rows of a snapshot, found by the ids that they share, so that no row is compared with all others. */
export type Listing = {
  readonly rows: readonly SnapshotChannel[]
  readonly byId: ReadonlyMap<string, SnapshotChannel>
  /** The first caller of each of the PBX's calls. */
  readonly callers: ReadonlyMap<string, SnapshotChannel>
  /** The phones of each extension that talk. */
  readonly talking: ReadonlyMap<string | null, readonly SnapshotChannel[]>
}

/** Returns the listing of a snapshot, in steps of one row. */
export function* listingOf(rows: readonly SnapshotChannel[]): Generator<void, Listing> {
  const byId = new Map<string, SnapshotChannel>()
  const callers = new Map<string, SnapshotChannel>()
  const talking = new Map<string | null, SnapshotChannel[]>()
  for (const row of rows) {
    yield
    const { id, linkedId, callee, endpoint } = row
    if (!byId.has(id)) byId.set(id, row)
    if (!callee && linkedId !== null && endpoint.kind !== 'virtual' && !callers.has(linkedId))
      callers.set(linkedId, row)
    if (endpoint.kind !== 'extension' || row.bridge === null) continue
    const same = talking.get(endpoint.number)
    if (same === undefined) talking.set(endpoint.number, [row])
    else same.push(row)
  }
  return { rows, byId, callers, talking }
}
