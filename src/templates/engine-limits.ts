import { CaseTag, Context, defaultOperators, type Emitter, Expression, Tokenizer, TokenKind, toValue } from 'liquidjs'
import { MAX_RENDER_MS } from './limits.ts'

/**
 * The limits that the engine enforces while it renders a template. Liquid checks the time between tags, and memory
 * where its own filters make text. A single expression can take minutes between two tags, and captured text is not
 * counted at all: so here each look-up of a variable and each filter checks the time, and each filter and each piece of
 * text that is written counts all that it reads or makes.
 */

/** Text is copied many times faster than items are visited. */
const CHARACTERS_PER_UNIT = 4
const UNITS_PER_ITEM = 4
/** The longest list that is compared, searched or sorted, since none of these checks the time meanwhile. */
const MAX_COMPARED = 1_000
/** The longest text that is searched for. */
const MAX_PATTERN = 1_000
/** Searching takes time that grows with both lengths: at most some milliseconds. */
const MAX_SEARCH = 20_000_000
/** Bounds of ranges: beyond 2 ** 53 counting by one never ends. */
const MAX_BOUND = 1e12
/** Digits of a number in a text. */
const MAX_NUMBER_CHARACTERS = 40
/** Above the limit of any job. */
const MAX_COUNTED = 400_000
const TOO_SLOW = 'render limit exceeded'
const TOO_LARGE = 'memory alloc limit exceeded'

/** Returns for how long the processor has worked for this thread, exact to one tick of the system (some 4 ms). */
export function processorUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

/** The limits of one job, which all its templates share: when it began, in `processorUs`, and its units so far. */
export type JobLimits = { readonly startedUs: number; readonly units: number; readonly maxUnits: number }

/** The context of a rendering. It checks the time whenever a property is read, also by a filter for each item. */
export class LimitedContext extends Context {
  /** The units counted so far. */
  usedUnits = 0
  readonly maxUnits: number

  constructor(data: object, { options, ...parts }: { options: Context['opts']; liquid: unknown }, limits: JobLimits) {
    super(data, options, { sync: true }, parts)
    const { startedUs, units: usedBefore, maxUnits } = limits
    this.maxUnits = maxUnits - usedBefore
    let deadlineMs = performance.now() + MAX_RENDER_MS
    this.renderLimit.check = (nowMs) => {
      if (nowMs <= deadlineMs) return
      // On a busy machine others had the processor meanwhile.
      const leftMs = MAX_RENDER_MS - (processorUs() - startedUs) / 1_000
      if (leftMs <= 0) throw new Error(TOO_SLOW)
      deadlineMs = nowMs + leftMs
    }
    this.memoryLimit.use = (units) => {
      if (!(units > 0)) return
      if (this.usedUnits + units > this.maxUnits) throw new Error(TOO_LARGE)
      this.usedUnits += units
    }
  }

  override readProperty(...args: Parameters<Context['readProperty']>): unknown {
    this.renderLimit.check(performance.now())
    return super.readProperty(...args)
  }
}

/** Converts output to text. */
export type Writing = {
  /** Called with text of the template itself. */
  pass(text: string): void
  put(value: unknown): string
}

/** The value of an output tag, before it becomes text. */
export class PutOut {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Writes captures and bodies unchanged. */
const PLAIN: Writing = { pass() {}, put: textOf }

/** Collects and counts the text of a template or a capture. */
export class LimitedEmitter implements Emitter {
  buffer = ''
  readonly #context: Context
  readonly #writing: Writing

  constructor(context: Context, writing: Writing = PLAIN) {
    this.#context = context
    this.#writing = writing
  }

  write(value: unknown): void {
    const isPutOut = value instanceof PutOut
    const text = isPutOut ? this.#writing.put(value.value) : textOf(value)
    if (!isPutOut) this.#writing.pass(text)
    this.#context.memoryLimit.use(1 + text.length / CHARACTERS_PER_UNIT)
    this.buffer += text
  }
}

/** Returns the units of a value and all that it contains; above `MAX_COUNTED` not all of them are counted. */
export function unitsOf(value: unknown): number {
  if (typeof value === 'string') return 1 + value.length / CHARACTERS_PER_UNIT
  if (typeof value !== 'object' || value === null) return 1
  let units = UNITS_PER_ITEM
  // A list may contain the same text a hundred thousand times.
  for (const item of Array.isArray(value) ? value : Object.values(value)) {
    units += UNITS_PER_ITEM + unitsOf(item)
    if (units > MAX_COUNTED) return units
  }
  return units
}

/** Returns a value as Liquid prints it, but an object, or a list with objects, as JSON. */
export function textOf(value: unknown): string {
  const plain: unknown = toValue(value)
  if (plain === undefined || plain === null) return ''
  if (hasObject(plain)) return JSON.stringify(plain)
  return Array.isArray(plain) ? plain.map(textOf).join('') : String(plain)
}

export function hasObject(value: unknown): boolean {
  const plain: unknown = toValue(value)
  if (Array.isArray(plain)) return plain.some(hasObject)
  return typeof plain === 'object' && plain !== null
}

/** Checks a value that is compared. @throws Error when it is a list that is too long for that. */
export function refuseLong(value: unknown): void {
  if (Array.isArray(value) && value.length > MAX_COMPARED)
    throw new Error(`compares or sorts more than ${MAX_COMPARED.toLocaleString('en')} items`)
}

/** Checks a compared value and everything in it. @throws Error when comparing would take too long. */
function refuseLongComparison(context: Context, value: unknown): void {
  refuseLong(value)
  if (typeof value === 'object') context.memoryLimit.use(unitsOf(value))
}

/** Checks a search in a text. @throws Error when it would take too long. */
export function refuseLongSearch(value: unknown, pattern: unknown): void {
  const { length } = textOf(pattern)
  if (length > MAX_PATTERN) throw new Error(`searches for more than ${MAX_PATTERN.toLocaleString('en')} characters`)
  if (typeof value === 'string' && length * value.length > MAX_SEARCH)
    throw new Error('searches for too long a text in too long a text')
}

const COMPARISONS = ['==', '!=', '<', '>', '<=', '>=', 'contains']

/** The operators of Liquid, which refuse slow comparisons. */
export const LIMITED_OPERATORS: typeof defaultOperators = {
  ...defaultOperators,
  ...Object.fromEntries(
    COMPARISONS.map((name) => [
      name,
      (left: unknown, right: unknown, context: Context) => {
        refuseLongComparison(context, left)
        refuseLongComparison(context, right)
        if (name === 'contains') refuseLongSearch(left, right)
        return defaultOperators[name]?.(left, right, context) ?? false
      },
    ]),
  ),
}

/** `case` without comparisons of long lists: it compares by itself, not by the operators. */
export class LimitedCase extends CaseTag {
  override *render(context: Context, emitter: Emitter): Generator<unknown, void, unknown> {
    refuseLongComparison(context, yield this.value.value(context))
    yield* super.render(context, emitter)
  }
}

/** The filter that checks a bound of a range. */
export const RANGE_BOUND = 'range_bound'

/** Returns a bound of a range as a whole number. @throws Error when counting from or to it might not end. */
export function rangeBound(value: unknown): number {
  const plain: unknown = toValue(value)
  if (typeof plain === 'string' && plain.length > MAX_NUMBER_CHARACTERS)
    throw new Error('has a range whose bound is no number')
  const bound = typeof plain === 'string' || typeof plain === 'number' ? Number(plain) : Number.NaN
  if (Math.abs(bound) > MAX_BOUND) throw new Error(`has a range beyond ${MAX_BOUND.toLocaleString('en')}`)
  return bound
}

let areRangesLimited = false

/** Makes the parser put the filter `range_bound` to both bounds of each range. All engines share the parser. */
export function limitRanges(): void {
  if (areRangesLimited) return
  areRangesLimited = true
  const read = Tokenizer.prototype.readGroupOrRange
  Tokenizer.prototype.readGroupOrRange = function () {
    const token = read.call(this)
    if (token !== undefined && 'lhs' in token && token.kind === TokenKind.Range) {
      token.lhs = bounded(token.lhs)
      token.rhs = bounded(token.rhs)
    }
    return token
  }
}

type Operand = NonNullable<ReturnType<Tokenizer['readValueOrThrow']>>

function bounded(operand: Operand): Operand {
  const filtered = new Tokenizer(`0 | ${RANGE_BOUND}`).readFilteredValue()
  filtered.initial = new Expression([operand].values())
  return filtered
}
