/** A metric as Prometheus sees it. The name says its unit; `labels` are never made of what clients choose. */
export type MetricDefinition = {
  readonly name: `hookswitch_${string}`
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: readonly string[]
}

/** All metrics, for those that measure, the dashboard and the documentation. */
export const METRICS = {
  attempts: {
    name: 'hookswitch_attempts_total',
    type: 'counter',
    help: 'Attempts by outcome; probe: sent while the webhook was down',
    labels: ['outcome', 'probe'],
  },
  ended: {
    name: 'hookswitch_deliveries_total',
    type: 'counter',
    help: 'Deliveries that ended, by state',
    labels: ['state'],
  },
  firstAttempt: {
    name: 'hookswitch_first_attempt_seconds',
    type: 'histogram',
    help: 'From when an event was stored to its first attempt',
  },
  delivered: {
    name: 'hookswitch_delivered_seconds',
    type: 'histogram',
    help: 'From when an event was stored, or sent again by hand, to the answer that took it',
  },
  attemptDuration: { name: 'hookswitch_attempt_seconds', type: 'histogram', help: 'How long attempts took' },
  pending: {
    name: 'hookswitch_deliveries_waiting',
    type: 'gauge',
    help: 'Deliveries that wait, counted up to a million of each kind',
  },
  oldestPending: {
    name: 'hookswitch_oldest_waiting_seconds',
    type: 'gauge',
    help: 'How long the oldest delivery waits',
  },
  inFlight: { name: 'hookswitch_attempts_in_flight', type: 'gauge', help: 'Requests under way' },
  webhooksDown: { name: 'hookswitch_webhooks_down', type: 'gauge', help: 'Webhooks that are down' },
  webhooksDownLong: {
    name: 'hookswitch_webhooks_down_long',
    type: 'gauge',
    help: 'Webhooks that have been down for 5 minutes or more',
  },
  unstored: { name: 'hookswitch_events_unstored', type: 'gauge', help: 'Events that wait for the store' },
  commits: { name: 'hookswitch_commits_total', type: 'counter', help: 'Group commits' },
  commitWrites: { name: 'hookswitch_commit_writes_total', type: 'counter', help: 'Writes in group commits' },
  commitFailures: { name: 'hookswitch_commit_failures_total', type: 'counter', help: 'Writes that failed' },
  commitDuration: {
    name: 'hookswitch_commit_seconds',
    type: 'gauge',
    help: 'How long the last group commit took',
  },
  commitWaiting: {
    name: 'hookswitch_commit_waiting',
    type: 'gauge',
    help: 'Writes that wait for a group commit',
  },
  diskFree: { name: 'hookswitch_disk_free_bytes', type: 'gauge', help: 'Room on the disk of the store' },
  diskNearlyFull: {
    name: 'hookswitch_disk_nearly_full',
    type: 'gauge',
    help: '1 when the disk of the store is nearly full',
  },
  memory: { name: 'hookswitch_memory_bytes', type: 'gauge', help: 'Resident memory' },
  pbxState: {
    name: 'hookswitch_pbx_state',
    type: 'gauge',
    help: '1 for the state that a PBX is in',
    labels: ['pbx', 'state'],
  },
  pbxEvents: {
    name: 'hookswitch_pbx_events_total',
    type: 'counter',
    help: 'Events that a PBX has sent',
    labels: ['pbx'],
  },
  pbxTaints: {
    name: 'hookswitch_pbx_taints_total',
    type: 'counter',
    help: 'Events that are not believed, since a caller may have written into them',
    labels: ['pbx'],
  },
  pbxFaults: {
    name: 'hookswitch_pbx_faults_total',
    type: 'counter',
    help: 'Events that made us fail and were left out',
    labels: ['pbx'],
  },
} as const satisfies Record<string, MetricDefinition>
