/** How long a session waits for what. */
export type Timeouts = {
  readonly connectMs: number
  readonly replyMs: number
  /** For the time at which the PBX was started: good to know, but not worth delaying events for longer. */
  readonly identifyMs: number
  /** For a list, once it has begun. */
  readonly listMs: number
  /** Between the two snapshots that must both lack a call before it is closed (events.md 9). */
  readonly snapshotAgainMs: number
  /** Between two resyncs, at the least: a caller may be the reason for them. */
  readonly resyncMs: number
  /** Silence after which an Asterisk is pinged. */
  readonly idleMs: number
  /** Silence after which a FreeSWITCH is given up: two of its heartbeats, and some. */
  readonly heartbeatMs: number
  /** For the first inventory ever: without it calls would be classified wrongly. */
  readonly inventoryMs: number
  /** From a reload to the next inventory: a reload comes in many parts. */
  readonly reloadMs: number
  /** Between two inventories, at the least. */
  readonly inventoryMinMs: number
  /** Between two inventories, at the most: Asterisk does not report a reload of the dialplan alone. */
  readonly inventoryMaxMs: number
  /** From a reason to doubt the states of phones, trunks, agents and queues to the next lists of them. */
  readonly statesAgainMs: number
}

export const TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  replyMs: 10_000,
  identifyMs: 1_000,
  listMs: 30_000,
  snapshotAgainMs: 2_000,
  resyncMs: 5_000,
  idleMs: 20_000,
  heartbeatMs: 45_000,
  inventoryMs: 3_000,
  reloadMs: 5_000,
  inventoryMinMs: 60_000,
  inventoryMaxMs: 3_600_000,
  statesAgainMs: 2_000,
}
