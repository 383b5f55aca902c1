import { startAmocrm } from './amocrm.ts'
import { startBitrix24 } from './bitrix24.ts'
import { startEspocrm } from './espocrm.ts'
import { startFrappe } from './frappe.ts'
import { startHubspot } from './hubspot.ts'
import { startJournal } from './journal.ts'
import { startOdoo } from './odoo.ts'
import { startPipedrive } from './pipedrive.ts'
import type { CrmStub } from './server.ts'
import { startVtiger } from './vtiger.ts'
import { startZendesk } from './zendesk.ts'
import { startZoho } from './zoho.ts'

/** The stubs of the CRMs: each preset has one at least. */
export const STUBS: readonly { readonly label: string; readonly preset: string; readonly start: () => CrmStub }[] = [
  { label: 'journal as JSON', preset: 'journal', start: () => startJournal('json') },
  { label: 'journal as a form', preset: 'journal', start: () => startJournal('form') },
  { label: 'Bitrix24', preset: 'bitrix24', start: () => startBitrix24() },
  { label: 'amoCRM', preset: 'amocrm', start: () => startAmocrm() },
  { label: 'HubSpot', preset: 'hubspot', start: startHubspot },
  { label: 'Odoo 19', preset: 'odoo', start: () => startOdoo('json2') },
  { label: 'Odoo 17', preset: 'odoo', start: () => startOdoo('rpc') },
  { label: 'Pipedrive', preset: 'pipedrive', start: startPipedrive },
  { label: 'Zendesk', preset: 'zendesk', start: startZendesk },
  { label: 'EspoCRM', preset: 'espocrm', start: startEspocrm },
  { label: 'Frappe CRM', preset: 'frappe', start: startFrappe },
  { label: 'Vtiger', preset: 'vtiger', start: startVtiger },
  { label: 'Zoho CRM', preset: 'zoho', start: startZoho },
]
