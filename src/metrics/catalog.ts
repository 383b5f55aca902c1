/**
 * A Prometheus metric. Its name ends with its unit; label values never come from clients, so their number is bounded.
 */
export type MetricDefinition = {
  readonly name: `hookswitch_${string}`
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels?: readonly string[]
}

/**
 * Every metric of the service. The measurements, the Grafana dashboard and the documentation are derived from this
 * table.
 */
export const METRICS = {
  attempts: {
    name: 'hookswitch_attempts_total',
    type: 'counter',
    help: 'Delivery attempts, by outcome; probe="true": sent to a webhook that was down, to find out whether it is up again',
    labels: ['outcome', 'probe'],
  },
  interrupted: {
    name: 'hookswitch_attempts_interrupted_total',
    type: 'counter',
    help: 'Delivery attempts that an internal error interrupted; their deliveries are sent again',
  },
  sendingRestarts: {
    name: 'hookswitch_sending_restarts_total',
    type: 'counter',
    help: 'Times that sending began again from the store after an internal error; what was in flight is sent again',
  },
  finished: {
    name: 'hookswitch_deliveries_total',
    type: 'counter',
    help: 'Finished deliveries, by final state (delivered, failed, cancelled)',
    labels: ['state'],
  },
  firstAttempt: {
    name: 'hookswitch_first_attempt_seconds',
    type: 'histogram',
    help: 'Time from storing an event to its first delivery attempt',
  },
  delivered: {
    name: 'hookswitch_delivered_seconds',
    type: 'histogram',
    help: 'Time from storing an event, or from its manual retry, to the response that accepted it',
  },
  attemptDuration: { name: 'hookswitch_attempt_seconds', type: 'histogram', help: 'Duration of delivery attempts' },
  pending: {
    name: 'hookswitch_deliveries_pending',
    type: 'gauge',
    help: 'Pending deliveries: new ones and retries, each counted up to 1,000,000',
  },
  oldestPending: {
    name: 'hookswitch_oldest_pending_seconds',
    type: 'gauge',
    help: 'Age of the oldest pending delivery',
  },
  inFlight: { name: 'hookswitch_attempts_in_flight', type: 'gauge', help: 'Delivery attempts in flight' },
  contactLookUps: {
    name: 'hookswitch_contact_lookups_total',
    type: 'counter',
    help: 'Numbers that were looked up, by outcome: cached, found, not_found, failed, late (the answer came after the budget)',
    labels: ['outcome'],
  },
  contactBreakers: {
    name: 'hookswitch_contact_lookups_down',
    type: 'gauge',
    help: 'Accounts whose look-up of contacts is down (circuit breaker open)',
  },
  webhooksDown: {
    name: 'hookswitch_webhooks_down',
    type: 'gauge',
    help: 'Webhooks that are down (circuit breaker open)',
  },
  webhooksDownLong: {
    name: 'hookswitch_webhooks_down_long',
    type: 'gauge',
    help: 'Webhooks that have been down for at least 5 minutes',
  },
  webhooksRefusing: {
    name: 'hookswitch_webhooks_refusing',
    type: 'gauge',
    help: 'Webhooks that refuse: their last five answers or more were a 4xx other than 408 and 429, or a refusal of an MQTT broker',
  },
  unstored: { name: 'hookswitch_events_unstored', type: 'gauge', help: 'Events in memory that are not yet stored' },
  commits: { name: 'hookswitch_commits_total', type: 'counter', help: 'Group commits to the store' },
  commitWrites: { name: 'hookswitch_commit_writes_total', type: 'counter', help: 'Writes made in group commits' },
  commitFailures: {
    name: 'hookswitch_commit_failures_total',
    type: 'counter',
    help: 'Writes to the store that failed',
  },
  commitDuration: {
    name: 'hookswitch_commit_seconds',
    type: 'gauge',
    help: 'Duration of the last group commit',
  },
  commitQueued: {
    name: 'hookswitch_commit_writes_queued',
    type: 'gauge',
    help: 'Writes queued for the next group commit',
  },
  diskFree: { name: 'hookswitch_disk_free_bytes', type: 'gauge', help: 'Free space on the disk of the store' },
  diskNearlyFull: {
    name: 'hookswitch_disk_nearly_full',
    type: 'gauge',
    help: '1 when the disk of the store is nearly full, else 0',
  },
  owned: {
    name: 'hookswitch_owned',
    type: 'gauge',
    help: 'Accounts and PBXs that this node owns, by kind (account, pbx), where several nodes share a database',
    labels: ['kind'],
  },
  databaseAnswers: {
    name: 'hookswitch_database_answers',
    type: 'gauge',
    help: '1 when the database that nodes share answers this node, 0 when it has not for 3 seconds, by role (cluster)',
    labels: ['role'],
  },
  recordings: {
    name: 'hookswitch_recordings',
    type: 'gauge',
    help: 'Recordings by state (pending: their file is awaited or not copied yet; saved; failed: given up after a day)',
    labels: ['state'],
  },
  memory: { name: 'hookswitch_memory_bytes', type: 'gauge', help: 'Resident memory of the process' },
  pbxState: {
    name: 'hookswitch_pbx_state',
    type: 'gauge',
    help: '1 for the present state of the connection to a PBX, 0 for the others',
    labels: ['pbx', 'state'],
  },
  pbxEvents: {
    name: 'hookswitch_pbx_events_total',
    type: 'counter',
    help: 'Events received from a PBX',
    labels: ['pbx'],
  },
  pbxUntrusted: {
    name: 'hookswitch_pbx_untrusted_events_total',
    type: 'counter',
    help: 'PBX events that were ignored because a caller may have forged part of them',
    labels: ['pbx'],
  },
  pbxLongLines: {
    name: 'hookswitch_pbx_long_lines_total',
    type: 'counter',
    help: 'Lines of PBX events that were left out because they were longer than 64 KB; the rest of the event is read',
    labels: ['pbx'],
  },
  pbxFailed: {
    name: 'hookswitch_pbx_failed_events_total',
    type: 'counter',
    help: 'PBX events that were skipped because processing them failed',
    labels: ['pbx'],
  },
  phones: {
    name: 'hookswitch_phones',
    type: 'gauge',
    help: 'Phones of a PBX, by state (registered, unregistered, unreachable)',
    labels: ['pbx', 'state'],
  },
  trunks: {
    name: 'hookswitch_trunks',
    type: 'gauge',
    help: 'Trunks of a PBX, by state (registered, rejected, unreachable, reachable, unknown)',
    labels: ['pbx', 'state'],
  },
  agents: {
    name: 'hookswitch_agents',
    type: 'gauge',
    help: 'Agents of a PBX, by state (available, busy, paused, logged_out, unreachable), once for each of their queues',
    labels: ['pbx', 'state'],
  },
  callersWaiting: {
    name: 'hookswitch_callers_waiting',
    type: 'gauge',
    help: 'Callers who wait in the queues of a PBX',
    labels: ['pbx'],
  },
  callsWithoutAccount: {
    name: 'hookswitch_calls_without_account_total',
    type: 'counter',
    help: 'Calls on a PBX with tenants whose events nobody got, since no account has the name that they show',
    labels: ['pbx'],
  },
  callsNotFollowed: {
    name: 'hookswitch_calls_not_followed_total',
    type: 'counter',
    help: 'Calls that were not followed because as many as --max-calls were open on their PBX when they began',
    labels: ['pbx'],
  },
  callsEndedEarly: {
    name: 'hookswitch_calls_ended_early_total',
    type: 'counter',
    help: 'Calls that were ended as unknown because more channels were up on their PBX than are kept',
    labels: ['pbx'],
  },
} as const satisfies Record<string, MetricDefinition>
