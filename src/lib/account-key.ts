import { comparedText } from './text.ts'

/**
 * Returns the text by which the names of accounts are compared: PBXs write the name of one customer in any case, and
 * with letters either composed or followed by their accents.
 */
export const accountKey = (name: string): string => comparedText(name.trim()).toLowerCase()
