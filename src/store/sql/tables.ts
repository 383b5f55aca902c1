import { index, integer, primaryKey, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import { forSwitches } from '../../lib/event-kinds.ts'
import type { OperatorAct } from '../operations/accounts.ts'
import type { AuditFacts } from '../operations/audit.ts'
import type { FlowProgress, KeptValues } from '../operations/flows.ts'
import type { Outage } from '../operations/outages.ts'
import type { PbxOrigin } from '../operations/pbxs.ts'
import type { RecordingState } from '../operations/recordings.ts'

// The tables of both engines, with the names that their rows have in the program. The migrations of each engine make
// them and hold the reasons; a test compares them with these declarations. Integers may be `bigint`, `integer` or
// `boolean` in Postgres, as their mode says.

const flag = (name: string) => integer(name, { mode: 'boolean' }).notNull()

export const accounts = sqliteTable('accounts', {
  id: integer('id').primaryKey(),
  name: text('name').notNull().unique(),
  eventsPrunedTo: integer('events_pruned_to').notNull().default(0),
})

/** Changes that operators made to users and webhooks, until a service has logged them. */
export const operatorActs = sqliteTable('operator_acts', {
  id: integer('id').primaryKey(),
  atUs: integer('at').notNull(),
  event: text('event').$type<OperatorAct['event']>().notNull(),
  email: text('email'),
  account: text('account'),
  by: text('by').notNull(),
  facts: text('facts', { mode: 'json' }).$type<OperatorAct['facts']>(),
})

/** The audit trail. */
export const audit = sqliteTable('audit', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  atUs: integer('at').notNull(),
  action: text('action').notNull(),
  account: text('account'),
  user: text('email'),
  by: text('by'),
  address: text('address'),
  subject: text('subject'),
  facts: text('facts', { mode: 'json' }).$type<AuditFacts>(),
})

/** Requests of other processes to the process that sends to a webhook. */
export const ownerRequests = sqliteTable('owner_requests', {
  id: integer('id').primaryKey(),
  atUs: integer('at').notNull(),
  webhookId: integer('webhook_id').notNull(),
  deliveryId: integer('delivery_id'),
})

export const users = sqliteTable('users', {
  id: integer('id').primaryKey({ autoIncrement: true }),
  accountId: integer('account_id').notNull(),
  type: integer('type').notNull(),
  name: text('name').notNull(),
  email: text('email').notNull().unique(),
  passwordHash: text('password_hash').notNull(),
  createdUs: integer('created_at').notNull(),
})

export const tokens = sqliteTable('tokens', {
  hash: text('hash').primaryKey(),
  userId: integer('user_id').notNull(),
  createdUs: integer('created_at').notNull(),
  name: text('name'),
  client: text('client'),
  lastUsedUs: integer('last_used_at'),
})

export const webhooks = sqliteTable(
  'webhooks',
  {
    id: integer('id').primaryKey(),
    accountId: integer('account_id').notNull(),
    url: text('url').notNull(),
    occurrence: integer('occurrence').notNull(),
    position: integer('position'),
    ...forSwitches(flag),
    cancelledTo: integer('cancelled_to').notNull().default(0),
    leftTo: integer('left_to').notNull().default(0),
  },
  (table) => [unique().on(table.accountId, table.url, table.occurrence)],
)

export const secrets = sqliteTable(
  'secrets',
  {
    accountId: integer('account_id').notNull(),
    url: text('url').notNull(),
    secret: text('secret').notNull(),
    previous: text('previous'),
    previousUntilUs: integer('previous_until'),
    leftUs: integer('left_at'),
    options: text('options'),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.url] })],
)

export const events = sqliteTable(
  'events',
  {
    id: integer('id').primaryKey(),
    uuid: text('uuid').notNull(),
    accountId: integer('account_id').notNull(),
    callId: text('call_id').notNull(),
    name: text('name').notNull(),
    sequence: integer('sequence').notNull(),
    atUs: integer('at').notNull(),
    body: text('body').notNull(),
  },
  (table) => [index('events_by_call').on(table.callId, table.sequence), index('events_by_account').on(table.accountId)],
)

export const deliveries = sqliteTable('deliveries', {
  id: integer('id').primaryKey(),
  webhookId: integer('webhook_id').notNull(),
  state: integer('state').notNull(),
  tries: integer('tries').notNull().default(0),
  attemptsMade: integer('attempts_made').notNull().default(0),
  dueSteadyUs: integer('due_at'),
  generation: integer('generation').notNull().default(1),
  sinceSteadyUs: integer('since').notNull(),
  createdUs: integer('created_at').notNull(),
  endedUs: integer('ended_at'),
  /** The first attempt if it delivered, in SQLite. */
  firstUs: integer('first_at'),
  firstStatus: integer('first_status'),
  firstDurationMs: integer('first_duration_ms'),
  firstAddress: text('first_address'),
  firstResponse: text('first_response'),
})

export const attempts = sqliteTable(
  'attempts',
  {
    deliveryId: integer('delivery_id').notNull(),
    atUs: integer('at').notNull(),
    probe: flag('probe'),
    status: integer('status'),
    durationMs: integer('duration_ms').notNull(),
    error: text('error'),
    address: text('address'),
    response: text('response'),
    step: text('step'),
    method: text('method'),
    url: text('url'),
    kept: text('kept', { mode: 'json' }).$type<readonly string[]>(),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.atUs] })],
)

/** How far the steps of deliveries are. */
export const flowProgress = sqliteTable('flow_progress', {
  deliveryId: integer('delivery_id').primaryKey(),
  steps: text('steps', { mode: 'json' }).$type<FlowProgress>().notNull(),
})

/** What the flows of webhooks have kept for calls. */
export const keptValues = sqliteTable(
  'kept_values',
  {
    callId: text('call_id').notNull(),
    webhookId: integer('webhook_id').notNull(),
    atUs: integer('at').notNull(),
    kept: text('kept', { mode: 'json' }).$type<KeptValues>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.callId, table.webhookId] }), index('kept_values_by_time').on(table.atUs)],
)

export const liveCalls = sqliteTable(
  'live_calls',
  {
    pbx: text('pbx').notNull(),
    id: text('id').notNull(),
    state: text('state').notNull(),
  },
  (table) => [primaryKey({ columns: [table.pbx, table.id] })],
)

/** Present states of phones, trunks, agents and queues, with the last emitted ones. */
export const subjectStates = sqliteTable(
  'subject_states',
  {
    pbx: text('pbx').notNull(),
    id: text('id').notNull(),
    state: text('state').notNull(),
  },
  (table) => [primaryKey({ columns: [table.pbx, table.id] })],
)

export const pbxMemory = sqliteTable('pbx_memory', {
  pbx: text('pbx').primaryKey(),
  memory: text('memory').notNull(),
})

/** The PBXs to watch. */
export const pbxs = sqliteTable('pbxs', {
  name: text('name').primaryKey(),
  url: text('url'),
  origin: text('origin').$type<PbxOrigin>().notNull(),
  version: text('version').notNull(),
  endsCalls: flag('ends_calls'),
  recordings: text('recordings'),
})

export const pbxStates = sqliteTable('pbx_states', {
  pbx: text('pbx').primaryKey(),
  state: text('state').notNull(),
  atSteadyUs: integer('at_us').notNull(),
})

export const calls = sqliteTable(
  'calls',
  {
    id: text('id').primaryKey(),
    accountId: integer('account_id').notNull(),
    savedUs: integer('saved_at').notNull(),
    direction: text('direction').notNull(),
    fromNumber: text('from_number'),
    toNumber: text('to_number'),
    record: text('record').notNull(),
  },
  (table) => [
    index('calls_by_direction').on(table.accountId, table.direction, table.savedUs, table.id),
    index('calls_by_from').on(table.accountId, table.fromNumber, table.direction, table.savedUs, table.id),
    index('calls_by_to').on(table.accountId, table.toNumber, table.direction, table.savedUs, table.id),
  ],
)

export const clock = sqliteTable('clock', {
  id: integer('id').primaryKey(),
  steppedUs: integer('stepped').notNull(),
  pruneFromUs: integer('prune_from').notNull(),
  prunedToUs: integer('pruned_to').notNull().default(0),
})

export const minutes = sqliteTable(
  'minutes',
  {
    minute: integer('minute').notNull(),
    accountId: integer('account_id').notNull(),
    webhookId: integer('webhook_id').notNull(),
    events: integer('events').notNull(),
    delivered: integer('delivered').notNull(),
    failedAttempts: integer('failed_attempts').notNull(),
    failedProbes: integer('failed_probes').notNull(),
    latencies: text('latencies', { mode: 'json' }).$type<readonly number[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.minute, table.accountId, table.webhookId] })],
)

/** Recordings of saved calls. */
export const recordings = sqliteTable(
  'recordings',
  {
    callId: text('call_id').notNull(),
    id: text('id').notNull(),
    accountId: integer('account_id').notNull(),
    pbx: text('pbx').notNull(),
    path: text('path').notNull(),
    state: text('state').$type<RecordingState>().notNull(),
    sinceUs: integer('since').notNull(),
    sequence: integer('sequence').notNull(),
    error: text('error'),
    sizeBytes: integer('size'),
    stamp: text('stamp'),
    sha256: text('sha256'),
    mediaType: text('media_type'),
    copy: text('copy'),
  },
  (table) => [
    primaryKey({ columns: [table.callId, table.id] }),
    index('recordings_by_state').on(table.state, table.pbx, table.sinceUs),
    index('recordings_by_time').on(table.sinceUs),
  ],
)

/** The key of the ids that clients get. */
export const publicIds = sqliteTable('public_ids', {
  id: integer('id').primaryKey(),
  key: text('key').notNull(),
  plainTo: integer('plain_to').notNull(),
})

/** Runs of the database, by the event behind which each began to store. */
export const eventHistories = sqliteTable('event_histories', {
  beganAt: integer('began_at').primaryKey(),
  id: integer('id').notNull(),
  run: text('run').notNull(),
})

/** The columns of a token that was got with the settings of a webhook. */
const token = () => ({
  accountId: integer('account_id').notNull(),
  url: text('url').notNull(),
  settings: text('settings').notNull(),
  header: text('header'),
  expiresSteadyUs: integer('expires_at'),
  renewSteadyUs: integer('renew_at'),
  refreshToken: text('refresh_token'),
})

/** Tokens with which requests are authorized. */
export const authorizations = sqliteTable(
  'authorizations',
  {
    ...token(),
    problem: text('problem'),
    problemSinceUs: integer('problem_since'),
    claim: text('claim'),
    claimedUntilSteadyUs: integer('claimed_until'),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.url] })],
)

/** Tokens of settings that are not saved, or no longer. */
export const authorizationDrafts = sqliteTable(
  'authorization_drafts',
  {
    ...token(),
    keptUntilSteadyUs: integer('kept_until').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.url, table.settings] })],
)

/** How accounts look up who calls: JSON. */
export const contactSettings = sqliteTable('contact_settings', {
  accountId: integer('account_id').primaryKey(),
  settings: text('settings').notNull(),
})

/** How often cached contacts had to be forgotten. */
export const contactErasures = sqliteTable('contact_erasures', {
  id: integer('id').primaryKey(),
  count: integer('count').notNull(),
})

/** Outages that were reported. */
export const outages = sqliteTable(
  'outages',
  {
    what: text('what').$type<Outage['what']>().notNull(),
    key: text('key').notNull(),
    name: text('name').notNull(),
  },
  (table) => [primaryKey({ columns: [table.what, table.key] })],
)

export const recordingKey = sqliteTable('recording_key', { id: integer('id').primaryKey(), key: text('key').notNull() })
