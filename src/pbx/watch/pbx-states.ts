import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { type Ownership, pbxLease } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import { type Fence, LeaseLost } from '../../store/operations/cluster.ts'
import type { PbxStateRecord } from '../../store/operations/pbxs.ts'
import type { Store } from '../../store/store.ts'
import { PBX_STATES } from './model.ts'
import type { Watch } from './watch.ts'

/** The state of a PBX, according to the node that watches it. */
export const PbxState = t.Object({
  state: t.UnionEnum(PBX_STATES, { default: undefined }),
  sinceUs: Type.Integer(),
  error: t.Union([t.String(), t.Null()]),
  eventsPerSecond: t.Number(),
  /** The number of live calls by account id: the owner's account, and every other that may see the PBX. */
  calls: t.Record(t.String(), Type.Integer()),
  /** Absent from an earlier version's state. */
  callsNotFollowed: t.Optional(Type.Integer()),
})
export type PbxState = typeof PbxState.static

export type PbxStates = {
  /** Returns the states of all PBXs that a node watches, by name. @throws Fault `unavailable`. */
  read(): Promise<ReadonlyMap<string, PbxState>>
  stop(): Promise<void>
}

type Dependencies = {
  readonly watch: Pick<Watch, 'status' | 'callCounts'>
  readonly store: Pick<Store, 'pbxs'>
  readonly ownership: Ownership
  readonly steadyUs: NowUs
  readonly log: Log
}

/** Any node shows a change within a second. */
const CHECK_MS = 500
/** An unchanged state is stored again after this time, to show that it is up to date. */
const STORE_EVERY_US = 5 * SECOND
/** An older state is from a node that is gone. */
const STALE_US = 15 * SECOND
const NOBODY_WATCHES = 'No node watches this PBX at present.'

/** Starts to share the states of this node's PBXs with other nodes, whose states it reads on request. */
export function startPbxStates({ watch, store, ownership, steadyUs, log }: Dependencies): PbxStates {
  const stored = new Map<string, { readonly key: string; readonly atSteadyUs: number }>()
  /** An outage is logged once, not twice per second. */
  let isReported = false

  function own(): Map<string, PbxState> {
    const counts = watch.callCounts()
    return new Map(
      watch.status().map(({ name, state, sinceUs, lastError: error, eventsPerSecond, callsNotFollowed }) => {
        const calls = Object.fromEntries(counts.get(name) ?? [])
        return [name, { state, sinceUs, error, eventsPerSecond, calls, callsNotFollowed: callsNotFollowed.now }]
      }),
    )
  }

  /** Returns the states that changed, or that have to be confirmed. */
  function due(): PbxStateRecord[] {
    const atSteadyUs = steadyUs()
    return [...own()].flatMap(([pbx, of]) => {
      const state = JSON.stringify(of)
      const before = stored.get(pbx)
      const isKnown = before?.key === state && atSteadyUs - before.atSteadyUs < STORE_EVERY_US
      return isKnown ? [] : [{ pbx, state, atSteadyUs }]
    })
  }

  /** Stores states with one statement, without PBXs whose lease this node has lost. */
  async function share(rows: readonly PbxStateRecord[]): Promise<void> {
    const owned = rows.flatMap((row) => {
      const fence = fenceOf(row)
      return fence === 'lost' ? [] : [{ row, fence }]
    })
    if (owned.length === 0) return
    const fences = owned.flatMap(({ fence }) => fence ?? [])
    const all: Fence | undefined =
      fences.length === 0
        ? undefined
        : { leaseNames: fences.flatMap(({ leaseNames }) => leaseNames), terms: fences.flatMap(({ terms }) => terms) }
    try {
      await store.pbxs.pbxStateSetMany(
        owned.map(({ row }) => row),
        all,
      )
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error
      // Another node took these over; nothing was written.
      const left = owned.filter(({ row }) => !error.leases.includes(pbxLease(row.pbx))).map(({ row }) => row)
      if (left.length < owned.length) await share(left)
      return
    }
    for (const { row } of owned) stored.set(row.pbx, { key: row.state, atSteadyUs: row.atSteadyUs })
  }

  function fenceOf({ pbx }: PbxStateRecord): Fence | undefined | 'lost' {
    try {
      return ownership.fenceOf(pbxLease(pbx))
    } catch (error) {
      if (error instanceof LeaseLost) return 'lost'
      throw error
    }
  }

  async function shareAll(): Promise<void> {
    const rows = due()
    if (rows.length === 0) return
    try {
      await share(rows)
      isReported = false
    } catch (error) {
      for (const { pbx } of rows) stored.delete(pbx)
      if (!isReported)
        log.warn({ pbxs: rows.length, err: error }, 'cannot store the states of PBXs for the other nodes; will retry')
      isReported = true
    }
  }

  const sharing = ownership.isShared ? startPeriodic(CHECK_MS, shareAll) : undefined
  return {
    read: async () =>
      new Map([...(ownership.isShared ? readPbxStates(await store.pbxs.pbxStateList(), steadyUs()) : []), ...own()]),
    stop: async () => sharing?.stop(),
  }
}

/**
 * Returns the states of PBXs by name, as nodes stored them for each other; a state that is too old counts as `down`.
 */
export function readPbxStates(rows: readonly PbxStateRecord[], nowSteadyUs: number): ReadonlyMap<string, PbxState> {
  const states = new Map<string, PbxState>()
  for (const { pbx, state: json, atSteadyUs } of rows) {
    const state = readState(json)
    if (state === undefined) continue
    const calls = Object.fromEntries(Object.keys(state.calls).map((accountId) => [accountId, 0]))
    const isStale = nowSteadyUs - atSteadyUs > STALE_US
    states.set(pbx, isStale ? { ...state, state: 'down', error: NOBODY_WATCHES, eventsPerSecond: 0, calls } : state)
  }
  return states
}

/** Another version may have stored it. */
function readState(json: string): PbxState | undefined {
  const state: unknown = JSON.parse(json)
  return Value.Check(PbxState, state) ? state : undefined
}
