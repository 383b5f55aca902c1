import type { SQL } from 'bun'
import { Fault } from '../../lib/fault.ts'
import type { Machine } from './machine.ts'

/** The settings of a FusionPBX on this machine, by name, and their file. */
export type FusionPbx = { readonly path: string; readonly settings: ReadonlyMap<string, string> }

const CONFIGS = ['/etc/fusionpbx/config.conf', '/usr/local/etc/fusionpbx/config.conf']

/** Returns the settings of FusionPBX, `undefined` if it is not on this machine. */
export function findFusionPbx(machine: Machine): FusionPbx | undefined {
  for (const path of CONFIGS) {
    const text = machine.read(path)
    if (text === undefined) continue
    const pairs = text.split('\n').flatMap((line) => {
      const [, name, value] = /^\s*([\w.]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    })
    return { path, settings: new Map(pairs) }
  }
  return undefined
}

/**
 * Reads the customers of FusionPBX from its database: each enabled domain, with the e-mail address of one of its users
 * if it has one. @throws Fault if the database cannot be read.
 */
export async function readDomains(fusion: FusionPbx): Promise<{ domain: string; email: string | null }[]> {
  const rows = await query(
    fusion,
    'the domains',
    (sql) => sql`
      SELECT d.domain_name AS domain, min(u.user_email) AS email FROM v_domains d
      LEFT JOIN v_users u ON u.domain_uuid = d.domain_uuid AND u.user_email LIKE '%_@_%'
      WHERE d.domain_enabled::text IN ('true', 't') GROUP BY d.domain_name ORDER BY d.domain_name`,
  )
  return rows.map(({ domain, email }) => ({ domain: String(domain), email: typeof email === 'string' ? email : null }))
}

/**
 * Reads the gateways of FusionPBX from its database: FreeSWITCH knows them by their ids alone. @throws Fault if the
 * database cannot be read.
 */
export async function readGateways(fusion: FusionPbx): Promise<{ id: string; name: string }[]> {
  const rows = await query(
    fusion,
    'the names of gateways',
    (sql) => sql`
      SELECT lower(gateway_uuid::text) AS id, gateway AS name FROM v_gateways
      WHERE enabled::text IN ('true', 't') AND gateway <> '' ORDER BY gateway, gateway_uuid`,
  )
  return rows.map(({ id, name }) => ({ id: String(id), name: String(name) }))
}

type Rows = Readonly<Record<string, unknown>>[]

async function query({ path, settings }: FusionPbx, what: string, read: (sql: SQL) => Promise<Rows>): Promise<Rows> {
  const setting = (name: string) => settings.get(`database.0.${name}`) ?? ''
  if (setting('type') !== 'pgsql')
    throw new Fault('unavailable', `${what} cannot be read: ${path} names no Postgres database as database.0`)
  const sql = new Bun.SQL({
    adapter: 'postgres',
    hostname: setting('host') || '127.0.0.1',
    port: Number(setting('port') || 5_432),
    database: setting('name'),
    username: setting('username'),
    password: setting('password'),
    tls: false,
    max: 1,
    connectionTimeout: 10,
  })
  try {
    return await read(sql)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('unavailable', `${what} cannot be read from the database in ${path}: ${reason}`, { cause })
  } finally {
    await sql.close()
  }
}

/** Returns the customers as a file for `hookswitch user add --from`. */
export const customersCsv = (domains: readonly { readonly domain: string; readonly email: string | null }[]): string =>
  domains
    .map(({ domain, email }) => `${[domain, domain, email ?? `admin@${domain}`, 'user'].map(csvField).join(',')}\n`)
    .join('')

/** Customers choose their own addresses: one must not begin another field, such as the kind of user. */
const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
