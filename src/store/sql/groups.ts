import type { CallStore } from '../operations/calls.ts'
import type { MaintenanceStore } from '../operations/maintenance.ts'
import { ACCOUNTS } from './accounts.ts'
import { AUDIT } from './audit.ts'
import { AUTHORIZATIONS } from './authorizations.ts'
import { CALL_REQUESTS } from './call-requests.ts'
import { CALLS } from './calls.ts'
import { CLOCK } from './clock.ts'
import { readCondition } from './condition.ts'
import { CONTACTS } from './contacts.ts'
import { ERASE } from './erase.ts'
import { EVENT_READER } from './event-reader.ts'
import { FLOWS } from './flows.ts'
import { type Declarations, read } from './operation.ts'
import { OUTAGES } from './outages.ts'
import { PBX_MEMORY, PBXS } from './pbxs.ts'
import { RECORDINGS } from './recordings.ts'
import { REPLAYS } from './replays.ts'
import { RETENTION } from './retention.ts'
import { RETRIES } from './retries.ts'
import { STATISTICS } from './statistics.ts'
import { findWrong } from './verify.ts'
import { WEBHOOKS } from './webhooks.ts'

const calls: Declarations<Omit<CallStore, 'batchStore'>> = { ...CALLS, ...PBX_MEMORY }

const maintenance: Declarations<Omit<MaintenanceStore, 'writeProbe' | 'deliveryPrune' | 'fileFaults'>> = {
  ...CLOCK,
  ...RETENTION,
  ...ERASE,
  verify: read(findWrong, { isSnapshot: true }),
  conditionGet: read(readCondition),
}

/** The declared operations by the group of the store that they belong to. */
export const GROUPS = {
  accounts: ACCOUNTS,
  audit: AUDIT,
  authorizations: AUTHORIZATIONS,
  contacts: CONTACTS,
  webhooks: WEBHOOKS,
  queue: RETRIES,
  flows: FLOWS,
  calls,
  callRequests: CALL_REQUESTS,
  recordings: RECORDINGS,
  pbxs: PBXS,
  log: EVENT_READER,
  statistics: STATISTICS,
  maintenance,
  outages: OUTAGES,
  replays: REPLAYS,
}
