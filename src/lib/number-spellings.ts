import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** What countries dial before a number abroad. */
const ABROAD = ['00', '000', '001', '009', '010', '011', '0011', '810']
/** What countries dial before a number of their own, besides the prefix in the national format. */
const TRUNK = ['', '0', '8']

/** Returns how PBXs may spell an E.164 number, without that form; none of any other number. */
export function otherSpellings(number: string): readonly string[] {
  if (!/^\+\d{5,15}$/.test(number)) return []
  const digits = number.slice(1)
  const parsed = parsePhoneNumberFromString(number)
  const national = parsed?.nationalNumber
  return [
    ...new Set([
      digits,
      ...ABROAD.map((prefix) => prefix + digits),
      ...(parsed === undefined ? [] : [parsed.formatNational().replace(/\D/g, '')]),
      ...(national === undefined ? [] : TRUNK.map((prefix) => prefix + national)),
    ]),
  ]
}
