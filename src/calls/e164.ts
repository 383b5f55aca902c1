import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min'

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
    const e164 = e164Of(number, country)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(number, e164)
    return e164
  }
}

function e164Of(number: string, country: CountryCode): string | null {
  const national = parsePhoneNumberFromString(number, { defaultCountry: country, extract: false })
  if (national?.isValid() === true) return national.number
  // Many PBXs dial abroad with 00, also in countries whose own prefix is another, as Russia's is 8~10.
  const [, abroad] = /^\s*00(.*)$/.exec(number) ?? []
  const foreign = abroad === undefined ? undefined : parsePhoneNumberFromString(`+${abroad}`, { extract: false })
  return [foreign, national].find((one) => one?.isPossible() === true)?.number ?? null
}
