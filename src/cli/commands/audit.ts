import type { Command } from 'commander'
import type { AuditEntry, AuditPage } from '../../auth/auth.ts'
import { wholeNumber, withStoreOptions } from '../options.ts'
import { printJson } from '../print.ts'
import { type Service, type ServiceFlags, withService } from '../service.ts'
import { printTable } from '../table.ts'

type Flags = ServiceFlags & { json?: boolean; account?: string; limit: string; cursor?: string }

const MAX_LISTED = 10_000
/** The most that the API returns at once. */
const PAGE = 200

/** Adds `hookswitch audit`, which lists who changed what. */
export function auditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('list who changed what in webhooks, options, PBXs, users and settings, newest first')
    .option('--account <account>', 'only changes of this account')
    .option(
      '--limit <number>',
      `the number of entries to list, at most ${MAX_LISTED}; with --json at most ${PAGE}`,
      '50',
    )
    .option('--cursor <cursor>', 'the next_cursor that --json printed before')
  withStoreOptions(audit).action(async ({ json, account, limit, cursor, ...flags }: Flags) => {
    const most = wholeNumber('--limit', limit, { least: 1, most: json ? PAGE : MAX_LISTED })
    if (json) return printJson(await withService(flags, (service) => page(service, { account, limit: most, cursor })))
    const entries = await withService(flags, (service) => listed(service, { account, limit: most, cursor }))
    printTable(
      ['time', 'who', 'account', 'what'],
      entries.map((entry) => [entry.time, whoOf(entry), entry.account, whatOf(entry)]),
      {
        whenEmpty: account === undefined ? 'Nothing was changed yet.' : `No change of an account ${account} is stored.`,
      },
    )
  })
}

type Asked = { readonly account: string | undefined; readonly limit: number; readonly cursor: string | undefined }

const page = async (service: Service, { account, limit, cursor }: Asked): Promise<AuditPage> =>
  (await service.ask<AuditPage>('GET', '/audit', { query: { account, limit, cursor } })).result

async function listed(service: Service, asked: Asked): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  let { cursor } = asked
  do {
    const { items, next_cursor: next } = await page(service, {
      ...asked,
      limit: Math.min(PAGE, asked.limit - entries.length),
      cursor,
    })
    entries.push(...items)
    cursor = next ?? undefined
  } while (cursor !== undefined && entries.length < asked.limit)
  return entries
}

const whoOf = ({ user, operator, address }: AuditEntry): string => {
  // An earlier version stored the system user alone.
  if (operator !== null) return /^command line\b/.test(operator) ? operator : `${operator} (command)`
  return user === null ? 'the service' : `${user}${address === null ? '' : ` (${address})`}`
}

function whatOf({ description, subject, details }: AuditEntry): string {
  // All settings are in --json: here only the changed ones have room.
  const shown = Object.entries(details).filter(([name]) => name !== 'settings')
  const facts = shown.map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`)
  return [description, ...(subject === null ? [] : [subject]), ...facts].join('; ')
}
