import { CaseTag, Context, defaultOperators, type Emitter, toValue } from 'liquidjs'

/**
 * Limits on what a template costs while it is rendered. Liquid checks the time between tags, and memory where text is
 * made. A single expression can take minutes between two tags: so here each look-up of a variable and each filter
 * checks the time, and each filter and output counts all that it may have to read.
 */

/** A template of a page takes some 30 µs. */
export const MAX_RENDER_MS = 10
/** Characters of text and items of lists that all its filters and tags may make or read. */
export const MAX_MEMORY = 500_000
/** Text is copied many times faster than items are visited. */
const CHARACTERS_PER_UNIT = 4
const UNITS_PER_ITEM = 4
/** The longest list that is compared with another, searched or sorted: none of these checks the time meanwhile. */
export const MAX_COMPARED = 1_000
/** The longest text that is searched for: searching for a long one takes time that grows with both lengths. */
const MAX_PATTERN = 1_000

/** The context of a rendering. It checks the time whenever a property is read, also by a filter for each item. */
export class LimitedContext extends Context {
  override readProperty(...args: Parameters<Context['readProperty']>): unknown {
    this.renderLimit.check(performance.now())
    return super.readProperty(...args)
  }
}

/** Returns how much a value takes of the memory of a template, with all that is in it. */
export function unitsOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / CHARACTERS_PER_UNIT
  if (typeof value !== 'object' || value === null) return 1
  let units = UNITS_PER_ITEM
  // A list may hold the same text a hundred thousand times.
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    units += UNITS_PER_ITEM + unitsOf(item)
    if (units > MAX_MEMORY) return units
  }
  return units
}

/** Returns a value as Liquid prints it. */
export function textOf(value: unknown): string {
  const plain: unknown = toValue(value)
  if (plain === undefined || plain === null) return ''
  return Array.isArray(plain) ? plain.map(textOf).join('') : String(plain)
}

/** Checks a value that is compared. @throws Error when it is a list that is too long for that. */
export function refuseLong(value: unknown): void {
  if (Array.isArray(value) && value.length > MAX_COMPARED)
    throw new Error(`compares or sorts more than ${MAX_COMPARED.toLocaleString('en')} items`)
}

/** Checks a value that is searched for. @throws Error when its text is too long for that. */
export function refuseLongPattern(pattern: unknown): void {
  if (textOf(pattern).length > MAX_PATTERN)
    throw new Error(`searches for more than ${MAX_PATTERN.toLocaleString('en')} characters`)
}

const COMPARISONS = ['==', '!=', '<', '>', '<=', '>=', 'contains']

/** The operators of Liquid, which refuse what takes too long to compare. */
export const LIMITED_OPERATORS: typeof defaultOperators = {
  ...defaultOperators,
  ...Object.fromEntries(
    COMPARISONS.map((name) => [
      name,
      (left: unknown, right: unknown, context: Context) => {
        refuseLong(left)
        refuseLong(right)
        if (name === 'contains') refuseLongPattern(right)
        return defaultOperators[name]?.(left, right, context) ?? false
      },
    ]),
  ),
}

/** `case`, which refuses to compare long lists: its own comparison is none of the operators. */
export class LimitedCase extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    refuseLong(yield this.value.value(context))
    yield* super.render(context, emitter)
  }
}
