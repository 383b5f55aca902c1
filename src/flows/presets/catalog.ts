import type { Preset } from '../preset.ts'
import { AMOCRM } from './amocrm.ts'
import { BITRIX24 } from './bitrix24.ts'
import { ESPOCRM } from './espocrm.ts'
import { HUBSPOT } from './hubspot.ts'
import { JOURNAL } from './journal.ts'
import { ODOO } from './odoo.ts'
import { PIPEDRIVE } from './pipedrive.ts'
import { VTIGER } from './vtiger.ts'
import { ZENDESK } from './zendesk.ts'
import { ZOHO } from './zoho.ts'

/** The presets of flows, in the order in which they are shown. */
export const FLOW_PRESETS: readonly Preset[] = [
  JOURNAL,
  BITRIX24,
  AMOCRM,
  HUBSPOT,
  ODOO,
  PIPEDRIVE,
  ZENDESK,
  ESPOCRM,
  VTIGER,
  ZOHO,
]

const byName = new Map(FLOW_PRESETS.map((preset) => [preset.name, preset]))

/** Returns a preset by its name, `undefined` for an unknown name. */
export const presetByName = (name: string): Preset | undefined => byName.get(name)
