/** Extensions are shorter, and name nobody outside. */
const LEAST_DIGITS = 5
const SHOWN_DIGITS = 2

/** A phone number with all but its last two digits hidden: `15551230001` is `*********01`. Short ones stay as they are. */
export function maskNumber(number: string): string {
  return number.length < LEAST_DIGITS ? number : '*'.repeat(number.length - SHOWN_DIGITS) + number.slice(-SHOWN_DIGITS)
}

/** A text with everything masked in it that may be a number. */
export const maskNumbersIn = (text: string): string => text.replace(/\+?\d{5,}/g, maskNumber)
