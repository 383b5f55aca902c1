import { createHash } from 'node:crypto'
import { parsePhoneNumberFromString } from 'libphonenumber-js/min'
import { textOf } from './engine-limits.ts'

/** Filters for the templates of a flow's steps alone: numbers and times in the forms that CRMs need. */

const MAX_NUMBER_CHARACTERS = 100
const MAX_FORMAT_CHARACTERS = 100
const MAX_ZONE_CHARACTERS = 64
/** The most formatters that are kept: each takes some 100 KB, and a template names one or two zones. */
const MAX_ZONES = 50

export const digits = (value: unknown): string => textOf(value).replace(/[^0-9]/g, '')

export function lastDigits(value: unknown, count: unknown): string {
  const wanted = Number(textOf(count))
  if (!(Number.isInteger(wanted) && wanted > 0))
    throw new Error('last_digits needs a number of digits, as in last_digits: 10')
  return digits(value).slice(-wanted)
}

/** Returns the digits of an E.164 number as they are dialled within its country, with the trunk prefix. */
export function national(value: unknown): string {
  const text = textOf(value)
  if (!text.startsWith('+') || text.length > MAX_NUMBER_CHARACTERS) return digits(text)
  return digits(parsePhoneNumberFromString(text)?.formatNational() ?? text)
}

/**
 * Returns the ways in which people write an E.164 number, each once: for systems that compare numbers as texts. Another
 * text is returned as it is, and its digits.
 */
export function spellings(value: unknown): string[] {
  const text = textOf(value).slice(0, MAX_NUMBER_CHARACTERS)
  const phone = text.startsWith('+') ? parsePhoneNumberFromString(text) : undefined
  const plain = [text, digits(text)]
  if (phone === undefined) return distinct(plain)
  const { countryCallingCode: code, nationalNumber } = phone
  const home = phone.formatNational()
  const groups = phone.formatInternational().slice(code.length + 2)
  const dashed = groups.replaceAll(' ', '-')
  const abroad = [groups, dashed, nationalNumber].map((one) => `+${code} ${one}`)
  const joined = [`+${code}-${nationalNumber}`, `+${code}-${dashed}`, `+${code}${nationalNumber}`]
  return distinct([...plain, ...abroad, ...joined, home, digits(home), dashed, groups, nationalNumber])
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)].filter((text) => text !== '')

/** Returns the MD5 sum of a text in hexadecimal digits: some log-ins prove the key by it. It protects nothing. */
export const md5 = (value: unknown): string => createHash('md5').update(textOf(value)).digest('hex')

/** Returns the Unix seconds of a time; `undefined` if the value is no time. */
export function seconds(value: unknown): number | undefined {
  const ms = msOf(value)
  return ms === undefined ? undefined : Math.floor(ms / 1_000)
}

/** Returns the value that a table has for a key, or for each key of a list. */
export function mapped(value: unknown, table: object): unknown {
  if (Array.isArray(value)) return value.map((one) => mapped(one, table))
  const key = textOf(value)
  return Object.hasOwn(table, key) ? Object.getOwnPropertyDescriptor(table, key)?.value : undefined
}

/** Returns a time in a time zone, in the format of strftime; nothing if the value is no time. */
export function localTime(value: unknown, zone: unknown, format: unknown): string | undefined {
  const ms = msOf(value)
  const formatText = textOf(format)
  if (formatText === '' || formatText.length > MAX_FORMAT_CHARACTERS)
    throw new Error('local_time needs a zone and a format, as in local_time: "Europe/Berlin", "%Y-%m-%d %H:%M:%S"')
  const formatter = formatterOf(textOf(zone))
  return ms === undefined ? undefined : formatted(formatText, partsOf(formatter, ms))
}

function msOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value * 1_000
  const text = textOf(value)
  const ms = text.length > MAX_NUMBER_CHARACTERS || !/^\d{4}-/.test(text) ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone)
  if (known !== undefined) return known
  if (formatters.size >= MAX_ZONES) formatters.clear()
  const formatter = newFormatter(zone)
  formatters.set(zone, formatter)
  return formatter
}

function newFormatter(zone: string): Intl.DateTimeFormat {
  try {
    if (zone === '' || zone.length > MAX_ZONE_CHARACTERS) throw new RangeError()
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw new Error(`${JSON.stringify(zone.slice(0, MAX_ZONE_CHARACTERS))} is no time zone such as "Europe/Berlin"`)
  }
}

/** The local time of a zone, as if it were UTC, and its offset from UTC. */
type Parts = { readonly shown: Date; readonly ms: number; readonly offsetMinutes: number }

function partsOf(formatter: Intl.DateTimeFormat, ms: number): Parts {
  const parts = Object.fromEntries(formatter.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  const shownMs = Date.UTC(year, month - 1, day, hour, minute, second) + (((ms % 1_000) + 1_000) % 1_000)
  return { shown: new Date(shownMs), ms, offsetMinutes: Math.round((shownMs - ms) / 60_000) }
}

const MONTHS = 'January February March April May June July August September October November December'.split(' ')
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')
const two = (value: number): string => String(value).padStart(2, '0')
const twelve = (hour: number): number => hour % 12 || 12

function offsetOf(minutes: number, separator: string): string {
  const absolute = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(absolute / 60))}${separator}${two(absolute % 60)}`
}

const date = ({ shown }: Parts): string => shown.toISOString().slice(0, 10)
const clock = ({ shown }: Parts): string => shown.toISOString().slice(11, 19)

const DIRECTIVES: Readonly<Record<string, (parts: Parts) => string | number | undefined>> = {
  Y: ({ shown }) => shown.getUTCFullYear(),
  y: ({ shown }) => two(shown.getUTCFullYear() % 100),
  m: ({ shown }) => two(shown.getUTCMonth() + 1),
  d: ({ shown }) => two(shown.getUTCDate()),
  e: ({ shown }) => String(shown.getUTCDate()).padStart(2),
  H: ({ shown }) => two(shown.getUTCHours()),
  I: ({ shown }) => two(twelve(shown.getUTCHours())),
  l: ({ shown }) => String(twelve(shown.getUTCHours())).padStart(2),
  M: ({ shown }) => two(shown.getUTCMinutes()),
  S: ({ shown }) => two(shown.getUTCSeconds()),
  L: ({ shown }) => String(shown.getUTCMilliseconds()).padStart(3, '0'),
  p: ({ shown }) => (shown.getUTCHours() < 12 ? 'AM' : 'PM'),
  P: ({ shown }) => (shown.getUTCHours() < 12 ? 'am' : 'pm'),
  a: ({ shown }) => DAYS[shown.getUTCDay()]?.slice(0, 3),
  A: ({ shown }) => DAYS[shown.getUTCDay()],
  b: ({ shown }) => MONTHS[shown.getUTCMonth()]?.slice(0, 3),
  B: ({ shown }) => MONTHS[shown.getUTCMonth()],
  j: ({ shown }) =>
    String((shown.getTime() - Date.UTC(shown.getUTCFullYear())) / 86_400_000 + 1)
      .split('.')[0]
      ?.padStart(3, '0'),
  z: ({ offsetMinutes }) => offsetOf(offsetMinutes, ''),
  ':z': ({ offsetMinutes }) => offsetOf(offsetMinutes, ':'),
  s: ({ ms }) => Math.floor(ms / 1_000),
  F: date,
  T: clock,
  R: (parts) => clock(parts).slice(0, 5),
  '%': () => '%',
}

const formatted = (format: string, parts: Parts): string =>
  format.replace(/%(:?[A-Za-z%]|)/g, (found, name: string) => {
    const directive = DIRECTIVES[name]
    if (directive === undefined) throw new Error(`the format of local_time has ${found}, which is not known`)
    return String(directive(parts) ?? '')
  })
