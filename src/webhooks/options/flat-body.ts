import { KindGuard, type TSchema } from '@sinclair/typebox'
import { Call, type SentBody } from '../../events/bodies.ts'

type Flat = Readonly<Record<string, string | number | boolean | null>>

/**
 * Objects that may be `null`, with their fields, so that each column is in every row. A test compares them with the
 * schemas of the bodies.
 */
const CONTACT = ['id', 'name', 'company', 'url', 'owner']
const PARTY = ['number', 'name', 'extension', 'e164', ...CONTACT.map((field) => `contact_${field}`)]
/** Where a body has a party. */
const PARTIES = ['call_from', 'call_to', 'call_answered_by', 'transfer_by', 'transfer_transferee', 'transfer_to', 'by']
const STAGE = [
  'id',
  'parent_id',
  'kind',
  'target',
  'name',
  'attempt',
  'started_at',
  'answered_at',
  'ended_at',
  'ring_duration',
  'talk_duration',
  'result',
  'forwarded_to',
]
/** Returns the columns of an object; an object that may be `null` has them too. */
const columnsOf = (schema: TSchema): string[] =>
  Object.entries<TSchema>(schema.properties ?? {}).flatMap(([key, field]) => {
    const object = KindGuard.IsUnion(field) ? field.anyOf.find((one) => KindGuard.IsObject(one)) : field
    return object !== undefined && KindGuard.IsObject(object)
      ? columnsOf(object).map((column) => `${key}_${column}`)
      : [key]
  })
const NULLABLE: Readonly<Record<string, readonly string[]>> = {
  // Of a custom event without a call.
  call: columnsOf(Call),
  call_answered_by: PARTY,
  call_queue: ['name', 'position', 'wait_duration'],
  call_hangup: ['cause', 'code', 'by'],
  transfer_transferee: PARTY,
  by: PARTY,
  stage: STAGE,
  ...Object.fromEntries(PARTIES.map((path) => [`${path}_contact`, CONTACT])),
}

/** Returns a body in one level: `time`, `event`, and the path below `data` joined by `_`. Lists are JSON text. */
export function flatOf({ time, data }: SentBody): Flat {
  const { name, ...rest } = data
  const flat: Record<string, Flat[string]> = { time, event: name }
  add(flat, rest, '')
  return flat
}

function add(flat: Record<string, Flat[string]>, object: object, prefix: string): void {
  for (const [key, value] of Object.entries(object) as [string, unknown][]) {
    const path = prefix === '' ? key : `${prefix}_${key}`
    const fields = value === null ? NULLABLE[path] : undefined
    if (fields !== undefined) for (const field of fields) flat[`${path}_${field}`] = null
    else if (Array.isArray(value)) flat[path] = JSON.stringify(value)
    else if (typeof value === 'object' && value !== null) add(flat, value, path)
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') flat[path] = value
    else flat[path] = null
  }
}

/** Returns the flat body as a form; `null` becomes empty. */
export const formBody = (body: SentBody): string =>
  new URLSearchParams(Object.entries(flatOf(body)).map(([key, value]) => [key, String(value ?? '')])).toString()
