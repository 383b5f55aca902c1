import type { CallStore } from '../operations/calls.ts'
import { ACCOUNTS } from './accounts.ts'
import { CALLS } from './calls.ts'
import { STATISTICS } from './minutes.ts'
import type { Declarations } from './operation.ts'
import { PBX_MEMORY, PBXS } from './pbxs.ts'
import { RETRIES } from './retries.ts'

const calls: Declarations<Omit<CallStore, 'batchStore'>> = { ...CALLS, ...PBX_MEMORY }

/** The declared operations by the group of the store that they belong to. */
export const GROUPS = {
  accounts: ACCOUNTS,
  queue: RETRIES,
  calls,
  pbxs: PBXS,
  statistics: STATISTICS,
}
