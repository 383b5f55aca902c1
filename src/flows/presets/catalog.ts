import type { Preset } from '../preset.ts'
import { AMOCRM } from './amocrm.ts'
import { BITRIX24 } from './bitrix24.ts'
import { ESPOCRM } from './espocrm.ts'
import { FRAPPE } from './frappe.ts'
import { HUBSPOT } from './hubspot.ts'
import { JOURNAL } from './journal.ts'
import { ODOO } from './odoo.ts'
import { PIPEDRIVE } from './pipedrive.ts'
import { VTIGER } from './vtiger.ts'
import { ZENDESK } from './zendesk.ts'
import { ZOHO } from './zoho.ts'

/** The presets of the program, in the order in which they are shown. */
const BUILT_IN_PRESETS: readonly Preset[] = [
  JOURNAL,
  BITRIX24,
  AMOCRM,
  HUBSPOT,
  ODOO,
  PIPEDRIVE,
  ZENDESK,
  ESPOCRM,
  FRAPPE,
  VTIGER,
  ZOHO,
]

/** The built-in presets, and the presets of files, which are added at the start alone. */
const byName = new Map(BUILT_IN_PRESETS.map((preset) => [preset.name, preset]))

/** Adds the presets of files, in place of those that were added before. @throws Error for a name of a built-in one. */
export function setPresetsOfFiles(presets: readonly Preset[]): void {
  byName.clear()
  for (const preset of BUILT_IN_PRESETS) byName.set(preset.name, preset)
  for (const preset of presets) {
    if (byName.has(preset.name)) throw new Error(`two presets have the name ${preset.name}`)
    byName.set(preset.name, preset)
  }
}

/** Returns all presets, in the order in which they are shown. */
export const allPresets = (): readonly Preset[] => [...byName.values()]

/** Returns a preset by its name, `undefined` for an unknown name. */
export const presetByName = (name: string): Preset | undefined => byName.get(name)
