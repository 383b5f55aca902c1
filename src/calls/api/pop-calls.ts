import { readCallRecord } from '../../events/stored-json.ts'
import { Fault } from '../../lib/fault.ts'
import type { CallPosition, CallRow, CallStore } from '../../store/operations/calls.ts'
import { extensionsOf } from '../call-facts.ts'

/** The past calls that a token for the pop page reads: the last calls with a number, not the account's history. */

const MAX_CALLS = 3
/** The number of latest calls with a number in which the calls of an extension are searched. */
const MAX_EXAMINED = 200
/** Records have some kilobytes each. */
const AT_ONCE = 20

const REFUSED =
  'This token is for the pop page alone: it may ask for the last three calls with a number, GET /call?number=…, without other filters.'

type Asked = { readonly number?: string | undefined; readonly limit?: number | undefined }

/** Returns the number and the limit of a query. @throws Fault `forbidden` if it asks for anything else. */
export function popQuery(query: Asked): { readonly number: string; readonly limit: number } {
  const { number, limit = MAX_CALLS, ...others } = query
  if (number === undefined || Object.values(others).some((value) => value !== undefined))
    throw new Fault('forbidden', REFUSED)
  return { number, limit: Math.min(limit, MAX_CALLS) }
}

type PopQuery = {
  readonly accountId: number
  readonly number: string
  readonly limit: number
  /** Only calls in which this extension took part or rang; `null`: all. */
  readonly extension: string | null
}

/** Returns the last calls with a number. */
export async function popCalls(
  calls: Pick<CallStore, 'callList'>,
  { accountId, number, limit, extension }: PopQuery,
): Promise<CallRow[]> {
  const found: CallRow[] = []
  let after: CallPosition | undefined
  for (let examined = 0; examined < MAX_EXAMINED && found.length < limit; ) {
    const rows = await calls.callList({ accountId, filter: { number }, limit: AT_ONCE, after })
    found.push(...rows.filter((row) => extension === null || isOf(extension, row)))
    examined += rows.length
    after = rows.at(-1)
    if (rows.length < AT_ONCE) break
  }
  return found.slice(0, limit)
}

function isOf(extension: string, { record }: CallRow): boolean {
  const { call, stages } = readCallRecord(record)
  return extensionsOf(call, stages).includes(extension)
}
