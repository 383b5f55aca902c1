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

/** The parties that a dial string rings: several at once, or one after the other; `null` if it does not show that. */
export type RungParties = { readonly order: 'at once' | 'in turn'; readonly parties: readonly string[] }

/** Returns the parties that a dial string rings, unless it is one party, or some are rung at once and others later. */
export function rungParties(dialled: string): RungParties | null {
  if (dialled.length > MAX_STRING) return null
  const turns = dialled.includes(':_:') ? [dialled.split(':_:')] : [[dialled]]
  const steps = turns.flatMap((one) => stepsOf(one))
  const [first, ...later] = steps
  if (first === undefined) return null
  if (later.length === 0) return first.length > 1 ? { order: 'at once', parties: first } : null
  const parties = [...new Set(steps.flat())]
  return steps.every((step) => step.length === 1) && parties.length > 1 ? { order: 'in turn', parties } : null
}

/** A longer string is not the dialplan's: reading it takes time that grows with the square of its length. */
const MAX_STRING = 20_000

/** Returns the parties of each step of strings that are dialled together; `[]` if one of these rings in turn. */
function stepsOf(strings: readonly string[]): string[][] {
  const steps = strings.map((one) => one.match(STEP) ?? [])
  if (strings.length > 1) {
    if (steps.some((turns) => turns.length > 1)) return []
    return [distinctParties(steps.flat())]
  }
  return (steps[0] ?? []).map((step) => distinctParties([step]))
}

/** A step of a dial string, up to `|`, and a party in a step, up to `,`: both may occur in variables. */
const STEP = /(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|[^|])+/g
const PARTY = /(?:\{[^}]*\}|\[[^\]]*\]|<[^>]*>|[^,])+/g

const distinctParties = (steps: readonly string[]): string[] => [
  ...new Set(steps.flatMap((step) => step.match(PARTY) ?? []).flatMap((party) => partyOf(party) ?? [])),
]

/**
 * Returns the party of a part of a dial string: devices of one user have one name. `null` if it rings nobody, or does
 * not name its party.
 */
function partyOf(part: string): string | null {
  const [, name] = /^(?:user|loopback|sofia\/gateway\/[^/]+)\/([^@/]+)/.exec(part.replace(VARIABLES, '').trim()) ?? []
  if (name !== undefined) return name.startsWith('app=') ? null : name
  return /[[{,:]presence_id=([^@,:\]}]+)@/.exec(part)?.[1] ?? null
}
