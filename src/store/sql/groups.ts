import { ACCOUNTS } from './accounts.ts'

/** The declared operations by the group of the store that they belong to. */
export const GROUPS = { accounts: ACCOUNTS }
