import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import type { Contact } from '../events/bodies.ts'
import type { PhoneNumber } from '../events/phone-number.ts'
import { foreignJsonOf } from '../lib/foreign-json.ts'
import { valueAt } from '../lib/json-pointer.ts'
import type { Exchanged } from '../outbound/exchange.ts'

// Makes the look-up requests of a number, and reads the answers; pure.

export const SPELLINGS = ['e164', 'digits', 'national', 'last_10'] as const
export type Spelling = (typeof SPELLINGS)[number]

/** Where a contact is in an answer: JSON pointers; the pointers in `fields` start at the item. */
export type ContactPlace = {
  readonly item: string
  readonly fault?: string
  /** The values of several pointers are joined by spaces, like a first and a last name. */
  readonly fields: Readonly<Partial<Record<keyof Contact, string | readonly string[]>>>
  /** The page of the contact, with pointers in place of its values: `https://crm.example.com/contacts/{/id}`. */
  readonly page?: string
  /** The pointer to the responsible user, and the extensions of users. */
  readonly owner?: { readonly user: string; readonly extensions: ReadonlyMap<string, string> }
}

/** The meaning of an answer. */
export type LookUpAnswer =
  | { readonly kind: 'found'; readonly contact: Contact }
  | { readonly kind: 'not found' }
  | { readonly kind: 'failed'; readonly reason: string }

const LAST_DIGITS = 10
const MAX_CHARACTERS = 200
const MAX_URL_CHARACTERS = 1_000
const FIELDS = ['id', 'name', 'company', 'url', 'owner'] as const satisfies readonly (keyof Contact)[]

/** Returns a number in the given spellings, each once, if it has them. */
export function spelled(phone: PhoneNumber, spellings: readonly Spelling[]): string[] {
  const texts = spellings.map((spelling) => SPELLED[spelling](phone))
  return [...new Set(texts)].filter((text) => text !== '')
}

const digitsOf = ({ number, e164 }: PhoneNumber): string => (e164 ?? number).replace(/\D/g, '')

const SPELLED: Readonly<Record<Spelling, (phone: PhoneNumber) => string>> = {
  e164: ({ e164 }) => e164 ?? '',
  digits: digitsOf,
  national: ({ number, e164 }) =>
    ((e164 === null ? undefined : parsePhoneNumberFromString(e164)?.formatNational()) ?? number).replace(/\D/g, ''),
  last_10: (phone) => digitsOf(phone).slice(-LAST_DIGITS),
}

/** Returns the meaning of an answer to a look-up. A status of 404, or a missing item, means an unknown number. */
export function readLookUp({ status, failure, text }: Exchanged, place: ContactPlace): LookUpAnswer {
  const { item, fault } = place
  if (status === null) return { kind: 'failed', reason: failure ?? 'no answer' }
  if (status === 404 || status === 204) return { kind: 'not found' }
  if (status < 200 || status > 299) return { kind: 'failed', reason: `status ${status}` }
  if (text === null) return { kind: 'failed', reason: 'the answer is too long, or ended too early' }
  if (text.trim() === '') return { kind: 'not found' }
  const json = foreignJsonOf(text)
  if (json === undefined) return { kind: 'failed', reason: 'the answer is not JSON, or is nested too deeply' }
  if (fault !== undefined && !isBlank(valueAt(json, fault)))
    return { kind: 'failed', reason: `status ${status} with an error` }
  const found = valueAt(json, item)
  if (isBlank(found)) return { kind: 'not found' }
  if (typeof found !== 'object') return { kind: 'failed', reason: `the answer has no object at ${item}` }
  const contact = contactOf(found, place)
  return FIELDS.every((name) => contact[name] === null) ? { kind: 'not found' } : { kind: 'found', contact }
}

const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (typeof value === 'object' && Object.keys(value).length === 0)

function contactOf(item: unknown, { fields, page, owner }: ContactPlace): Contact {
  const textOf = (name: keyof Contact): string | null => {
    const texts = [fields[name] ?? []].flat().map((pointer) => plainText(valueAt(item, pointer)))
    const text = texts.filter((one) => one !== '').join(' ')
    if (text === '') return null
    return [...text].slice(0, name === 'url' ? MAX_URL_CHARACTERS : MAX_CHARACTERS).join('')
  }
  return {
    id: textOf('id'),
    name: textOf('name'),
    company: textOf('company'),
    url: textOf('url') ?? (page === undefined ? null : pageOf(item, page)),
    owner: owner?.extensions.get(plainText(valueAt(item, owner.user))) ?? textOf('owner'),
  }
}

const VALUE = /\{(\/[^}:]*)(:lower)?\}/g

/** Returns the page of a contact; `null` if it lacks one of the values. */
function pageOf(item: unknown, page: string): string | null {
  let isWhole = true
  const url = page.replaceAll(VALUE, (_, pointer: string, isLower: string | undefined) => {
    const text = plainText(valueAt(item, pointer))
    isWhole &&= text !== ''
    return encodeURIComponent(isLower === undefined ? text : text.toLowerCase())
  })
  return isWhole && url.length <= MAX_URL_CHARACTERS ? url : null
}

function plainText(value: unknown): string {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value.toWellFormed().trim() : ''
}
