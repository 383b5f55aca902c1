import { startBitrix24 } from './bitrix24.ts'
import { startJournal } from './journal.ts'
import type { CrmStub } from './server.ts'

/** The stub of the CRM of each preset, by the name of the preset. */
export const STUBS: Readonly<Record<string, () => CrmStub>> = {
  journal: startJournal,
  bitrix24: startBitrix24,
}
