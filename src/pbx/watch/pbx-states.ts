import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { type Ownership, pbxLease } from '../../cluster/ownership.ts'
import type { Log } from '../../lib/log.ts'
import { startPeriodic } from '../../lib/periodic.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import { LeaseLost } from '../../store/operations/cluster.ts'
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

  async function share(name: string, state: PbxState): Promise<void> {
    const key = JSON.stringify(state)
    const before = stored.get(name)
    const atSteadyUs = steadyUs()
    if (before?.key === key && atSteadyUs - before.atSteadyUs < STORE_EVERY_US) return
    const row = { pbx: name, state: key, atSteadyUs }
    await store.pbxs.pbxStateSet(row, ownership.fenceOf(pbxLease(name)))
    stored.set(name, { key, atSteadyUs })
  }

  async function shareAll(): Promise<void> {
    let hasFailed = false
    for (const [name, state] of own()) {
      try {
        await share(name, state)
      } catch (error) {
        stored.delete(name)
        if (error instanceof LeaseLost) continue
        hasFailed = true
        if (isReported) continue
        isReported = true
        log.warn({ pbx: name, err: error }, 'cannot store the state of the PBX for the other nodes; will retry')
      }
    }
    isReported = hasFailed
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
