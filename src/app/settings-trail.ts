import { createHmac } from 'node:crypto'
import type { Log } from '../lib/log.ts'
import { nowUs } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { SETTINGS, type Settings } from './settings.ts'

/** Settings that have secrets: the audit trail only has a fingerprint of them. */
const SECRET: ReadonlySet<string> = new Set(['database', 'pbxs', 'proxy', 'metricsToken', 'alertUrl'])
/** Settings in which the nodes of a cluster differ. */
const OWN_OF_MACHINE: ReadonlySet<string> = new Set(['listen', 'dataPath', 'control', 'publicUrl'])

/**
 * Stores in the audit trail which settings have changed since the last start: `settings` has all of them, `changed` the
 * ones that differ.
 */
export async function noteSettings(
  settings: Settings,
  { store: { audit, log: ids }, log }: { readonly store: Pick<Store, 'audit' | 'log'>; readonly log: Log },
): Promise<void> {
  try {
    const { key } = await ids.publicIdKeyGet()
    const now = settingLines(settings, key)
    const [last] = await audit.auditList({ action: 'settings_changed', limit: 1 })
    const known = last?.facts?.settings
    const changed = Array.isArray(known) ? now.filter((line) => !known.includes(line)) : []
    if (Array.isArray(known) && changed.length === 0) return
    const by = { account: null, user: null, by: null, address: null, subject: null }
    await audit.auditAdd({ ...by, atUs: nowUs(), action: 'settings_changed', facts: { changed, settings: now } })
  } catch (error) {
    log.warn({ err: error }, 'the settings could not be stored in the audit trail')
  }
}

/** Returns each setting as a line such as `--retention 604800 s`, without secrets. */
function settingLines(settings: Settings, key: string): string[] {
  const fingerprint = (value: unknown) =>
    createHmac('sha256', key).update(JSON.stringify(value)).digest('hex').slice(0, 8)
  return Object.entries(SETTINGS).flatMap(([name, { flag }]) => {
    if (OWN_OF_MACHINE.has(name)) return []
    // Object.entries loses the type of the names.
    const value = settings[name as keyof Settings]
    const [long = ''] = flag.split(' ')
    // A flag that switches off has the opposite value in the settings.
    if (long.startsWith('--no-')) return [`${long} ${value !== true}`]
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [`${long} not set`]
    return [`${long} ${SECRET.has(name) ? `set (fingerprint ${fingerprint(value)})` : valueText(name, value)}`]
  })
}

function valueText(name: string, value: unknown): string {
  if (name.endsWith('Ms') && typeof value === 'number') return `${value / 1_000} s`
  if (Array.isArray(value)) return value.map((one) => valueText(name, one)).join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
