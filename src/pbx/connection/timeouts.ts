/** The times for which a session waits. */
export type Timeouts = {
  readonly connectMs: number
  readonly replyMs: number
  /** Waiting for the PBX's start time, which is useful, but not worth a longer delay of events. */
  readonly identifyMs: number
  /** Waiting for the end of a list that has begun. */
  readonly listMs: number
  /** The longest delay of FreeSWITCH's lists behind its events: 70 to 150 ms were measured. */
  readonly listLagMs: number
  /** Between the two snapshots that must both lack a call before it is closed (events.md 9). */
  readonly snapshotAgainMs: number
  /** The least time between two resyncs, which a caller may cause. */
  readonly resyncMs: number
  /** The most time between two lists while reasons to request them come one after the other. */
  readonly doubtMaxMs: number
  /** How often calls that were silent for an hour are looked for. */
  readonly silentCheckMs: number
  /** After this silence an Asterisk is pinged. */
  readonly idleMs: number
  /** After this silence a FreeSWITCH counts as gone: a little over two of its heartbeats. */
  readonly heartbeatMs: number
  /** Waiting for the very first inventory: without it calls would get wrong directions. */
  readonly inventoryMs: number
  /** From a reload to the next inventory: a reload comes in many parts. */
  readonly reloadMs: number
  /** The least time between two inventories. */
  readonly inventoryMinMs: number
  /** The most time between two inventories: Asterisk does not report a reload of only the dialplan. */
  readonly inventoryMaxMs: number
  /** From a doubt about states to the next lists of phones, trunks, agents and queues. */
  readonly statesAgainMs: number
}

export const TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  replyMs: 10_000,
  identifyMs: 1_000,
  listMs: 30_000,
  listLagMs: 300,
  snapshotAgainMs: 2_000,
  resyncMs: 5_000,
  doubtMaxMs: 60_000,
  silentCheckMs: 300_000,
  idleMs: 20_000,
  heartbeatMs: 45_000,
  inventoryMs: 3_000,
  reloadMs: 5_000,
  inventoryMinMs: 60_000,
  inventoryMaxMs: 3_600_000,
  statesAgainMs: 2_000,
}
