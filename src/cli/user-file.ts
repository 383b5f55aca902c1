import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import { normalEmail } from '../auth/auth.ts'
import { comparedText } from '../lib/text.ts'
import { wrongUsage } from '../lib/usage.ts'
import { DEFAULT_ACCOUNT, type NamedUser, TYPES, userProblem } from './new-user.ts'
import { unreadable } from './unreadable.ts'

const COLUMNS = ['account', 'name', 'email', 'kind'] as const
type Column = (typeof COLUMNS)[number]
/** Spellings of the columns in the first line of a file. */
const HEADINGS: Readonly<Record<string, Column>> = { 'e-mail': 'email', mail: 'email', type: 'kind' }

/** At most this many problems of a file are named one by one. */
const MAX_PROBLEMS = 20
const FROM_INPUT = '-'

/**
 * Reads a file of users.
 * @throws CommanderError (exit code 2) that lists every wrong line: then no user is added.
 */
export async function readUserFile(path: string): Promise<NamedUser[]> {
  const { columns, rows } = rowsOf(path, await textOf(path))
  const problems: string[] = []
  const lines = new Map<string, number>()
  const users = rows.map(({ cells, line }) => {
    const cell = (column: Column) => cells[columns.indexOf(column)]?.trim() ?? ''
    const kind = cell('kind').toLowerCase() || 'user'
    const type = TYPES[kind]
    const email = normalEmail(cell('email'))
    const user = {
      account: comparedText(cell('account') || DEFAULT_ACCOUNT),
      name: cell('name'),
      email,
      type: type ?? 'USER',
    }
    const before = lines.get(email)
    lines.set(email, line)
    const problem =
      type === undefined
        ? `kind is ${JSON.stringify(kind)}: give user or admin`
        : (userProblem(user) ?? (before === undefined ? undefined : `${email} is in line ${before} too`))
    if (problem !== undefined) problems.push(`line ${line}: ${problem}`)
    return user
  })
  if (users.length === 0) throw wrongUsage(`${path} has no user: each line is account,name,email,kind`)
  if (problems.length === 0) return users
  const more = problems.length - MAX_PROBLEMS
  throw wrongUsage(
    `no user was added. ${path === FROM_INPUT ? 'Standard input' : path}: ${[...problems.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`and ${more} more`] : [])].join('; ')}`,
  )
}

async function textOf(path: string): Promise<string> {
  if (path === FROM_INPUT) return await Bun.stdin.text()
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw wrongUsage(`--from: cannot read ${path} (${unreadable(cause)}): give a file of lines account,name,email,kind`)
  }
}

type Row = { readonly cells: readonly string[]; readonly line: number }

/** Returns the lines of a file, and which column has what: the first line may name them, in any order. */
function rowsOf(path: string, text: string): { columns: readonly string[]; rows: readonly Row[] } {
  const rows = parsed(path, text)
  const [first] = rows
  if (first === undefined || first.cells.some((cell) => cell.includes('@'))) return { columns: COLUMNS, rows }
  const columns = first.cells.map((cell) => {
    const heading = cell.trim().toLowerCase()
    return HEADINGS[heading] ?? heading
  })
  const unknown = columns.filter((column) => !COLUMNS.some((one) => one === column))
  if (unknown.length > 0 || !columns.includes('email') || !columns.includes('name'))
    throw wrongUsage(
      `${path} line ${first.line} names the columns ${columns.join(', ')}: name, email, account and kind are known, and the first two are required`,
    )
  return { columns, rows: rows.slice(1) }
}

/** Spreadsheets separate by commas or semicolons, or by tabs. */
function parsed(path: string, text: string): Row[] {
  try {
    const lines: number[] = []
    const records = parse(text, {
      bom: true,
      delimiter: [',', ';', '\t'],
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
      on_record(record, { lines: line }) {
        lines.push(line)
        return record
      },
    })
    return records.map((cells, at) => ({ cells, line: lines[at] ?? 0 }))
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw wrongUsage(`${path} is no CSV file: ${reason}`)
  }
}
