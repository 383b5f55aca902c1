import type { Command } from 'commander'
import { type AuditEntry, entryOf } from '../../auth/auth.ts'
import { type StoreFlags, withExistingStore } from '../open-store.ts'
import { databaseOption, dataOption, jsonOption, wholeNumber } from '../options.ts'
import { printJson } from '../print.ts'
import { printTable } from '../table.ts'

type Flags = StoreFlags & { json?: boolean; account?: string; limit: string }

const MAX_LISTED = 10_000

/** Adds `hookswitch audit`, which lists who changed what. */
export function auditCommand(program: Command): void {
  program
    .command('audit')
    .description('list who changed what in webhooks, options, PBXs, users and settings, newest first')
    .option('--account <account>', 'only changes of this account')
    .option('--limit <number>', `the number of entries to list, at most ${MAX_LISTED}`, '50')
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(jsonOption())
    .action(async ({ json, account, limit, ...place }: Flags) => {
      const count = wholeNumber('--limit', limit, { least: 1, most: MAX_LISTED })
      const records = await withExistingStore(place, ({ audit }) => audit.auditList({ account, limit: count }))
      const entries = records.map(entryOf)
      if (json) printJson(entries)
      else
        printTable(
          ['time', 'who', 'account', 'what'],
          entries.map((entry) => [entry.time, whoOf(entry), entry.account, whatOf(entry)]),
          {
            whenEmpty:
              account === undefined ? 'Nothing was changed yet.' : `No change of an account ${account} is stored.`,
          },
        )
    })
}

const whoOf = ({ user, operator, address }: AuditEntry): string => {
  // An earlier version stored the system user alone.
  if (operator !== null) return /^command line\b/.test(operator) ? operator : `${operator} (command)`
  return user === null ? 'the service' : `${user}${address === null ? '' : ` (${address})`}`
}

function whatOf({ description, subject, details }: AuditEntry): string {
  // All settings are in --json: here only those that were changed have room.
  const shown = Object.entries(details).filter(([name]) => name !== 'settings')
  const facts = shown.map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : value}`)
  return [description, ...(subject === null ? [] : [subject]), ...facts].join('; ')
}
