import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** Returns the E.164 form (`+998712345678`) of a number as the PBX has it; `null` if no such number is possible. */
export type ToE164 = (number: string | null) => string | null

/** The most numbers whose form is kept, some 1 MB: a number is in every event of its call, and often in many calls. */
const MAX_KNOWN = 10_000

/** Creates the conversion for numbers that are dialled in a country; without a country numbers have no E.164 form. */
export function createToE164(country: string | null): ToE164 {
  if (country === null || !isSupportedCountry(country)) return () => null
  const known = new Map<string, string | null>()
  return (number) => {
    if (number === null) return null
    const before = known.get(number)
    if (before !== undefined) return before
    const parsed = parsePhoneNumberFromString(number, { defaultCountry: country, extract: false })
    const e164 = parsed?.isPossible() === true ? parsed.number : null
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(number, e164)
    return e164
  }
}
