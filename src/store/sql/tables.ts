import { index, integer, primaryKey, sqliteTable, text, unique } from 'drizzle-orm/sqlite-core'
import { type EventKind, forSwitches } from '../../events/kinds.ts'
import type { AuditFacts } from '../operations/audit.ts'
import type { Outage } from '../operations/outages.ts'
import type { PbxOrigin } from '../operations/pbxs.ts'
import type { RecordingState } from '../operations/recordings.ts'

// The tables of both engines that `select` reads, with the names that their rows have in the program. The migrations of
// each engine make them and hold the reasons; a test compares them with these declarations. Integers may be `bigint`,
// `integer` or `boolean` in Postgres, as their mode says.

const flag = (name: string) => integer(name, { mode: 'boolean' }).notNull()

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

export const quarters = sqliteTable(
  'quarters',
  {
    quarter: integer('quarter').notNull(),
    accountId: integer('account_id').notNull(),
    events: integer('events').notNull(),
    delivered: integer('delivered').notNull(),
    failedAttempts: integer('failed_attempts').notNull(),
    failedProbes: integer('failed_probes').notNull(),
    latencies: text('latencies', { mode: 'json' }).$type<readonly number[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.quarter] })],
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

/** Past events that are sent to a webhook. */
export const replays = sqliteTable('replays', {
  webhookId: integer('webhook_id').primaryKey(),
  accountId: integer('account_id').notNull(),
  sinceUs: integer('since').notNull(),
  untilUs: integer('until').notNull(),
  kinds: text('kinds', { mode: 'json' }).$type<readonly EventKind[]>().notNull(),
  again: flag('again'),
  nextEventId: integer('next_event_id').notNull(),
  endEventId: integer('end_event_id').notNull(),
  createdUs: integer('created_at').notNull(),
})
