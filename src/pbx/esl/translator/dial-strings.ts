/** The strings that `bridge` dials: `,` rings parties at once, `|` in turn, `:_:` each by its own string, at once. */

const VARIABLES = /\{[^}]*\}|\[[^\]]*\]|<[^>]*>/g

/**
 * Returns the parts of a dial string without their variables; `[]` if FreeSWITCH dials them in no order (`:_:`).
 */
export const partsOf = (dialled: string): string[] =>
  dialled.includes(':_:') ? [] : dialled.replace(VARIABLES, '').split(/[,|]/)

/** Returns the users that a string dials, in order. */
export const usersOf = (dialled: string): string[] =>
  dialled.includes('user/') ? partsOf(dialled).flatMap((part) => /^user\/([^@/]+)/.exec(part)?.[1] ?? []) : []

/**
 * Returns whether a dial string rings several parties, at once or in turn. One number over several trunks is one party.
 */
export function ringsSeveral(dialled: string): boolean {
  if (dialled.length > MAX_STRING) return false
  const steps = dialled.split(':_:').flatMap((one) => one.match(STEP) ?? [])
  return distinctParties(steps).length > 1
}

/**
 * Returns whether a script of FusionPBX made a dial string: it notes the extension with each party of a group, which it
 * may ring one after the other by strings of their own (`rollover`).
 */
export const isOfScript = (dialled: string): boolean => /[[{,]dialed_extension=/.test(dialled)

/** A longer string is not the dialplan's: reading it takes time that grows with the square of its length. */
const MAX_STRING = 20_000

/** A step of a dial string, up to `|`, and a party in a step, up to `,`: both may occur in variables. */
const STEP = /(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|[^|])+/g
const PARTY = /(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|[^,])+/g

const distinctParties = (steps: readonly string[]): string[] => [
  ...new Set(steps.flatMap((step) => step.match(PARTY) ?? []).flatMap((party) => partyOf(party) ?? [])),
]

/**
 * Returns the party of a part of a dial string: devices of one user have one name, and trunks may want one number in
 * different forms. `null` if it rings nobody, or does not name its party.
 */
function partyOf(part: string): string | null {
  const [, kind = '', name] =
    /^(user|loopback|sofia\/gateway\/[^/]+)\/([^@/]+)/.exec(part.replace(VARIABLES, '').trim()) ?? []
  if (name !== undefined)
    return name.startsWith('app=') ? null : kind.startsWith('sofia') ? name.slice(-SUBSCRIBER) : name
  return /[[{,:]presence_id=([^@,:\]}]+)@/.exec(part)?.[1] ?? null
}

/** The digits at the end of a number that no prefix changes. */
const SUBSCRIBER = 7

/** Returns whether a dial string dials a party, by any of its names: its number, user, or address. */
export function isDialledIn(dialled: string, names: readonly string[]): boolean {
  if (dialled.length > MAX_STRING) return false
  const words = wordsOf(dialled)
  return names.some((name) => name !== '' && words.has(name))
}

/** Returns the words of a dial string: numbers, users and addresses are among them. */
export const wordsOf = (dialled: string): Set<string> => new Set(dialled.split(/[^\w.+*#-]+/))
