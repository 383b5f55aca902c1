import {
  type Context,
  type Drop,
  type Emitter,
  type FilterImplOptions,
  Liquid,
  LiquidError,
  Output,
  RenderError,
  type Scope,
  type Template,
  toValueSync,
} from 'liquidjs'
import type { Escaping } from './content-escaping.ts'
import {
  hasObject,
  type JobLimits,
  LIMITED_OPERATORS,
  LimitedCase,
  LimitedContext,
  LimitedEmitter,
  limitRanges,
  PutOut,
  RANGE_BOUND,
  rangeBound,
  refuseLong,
  refuseLongSearch,
  textOf,
  unitsOf,
} from './engine-limits.ts'
import { createWriting, ESCAPING_FILTERS, Escaped, finished } from './escaping.ts'
import { digits, lastDigits, localTime, mapped, md5, national, seconds, spellings } from './step-filters.ts'

const MAX_DATE_CHARACTERS = 100

const TAGS = ['assign', 'capture', 'case', 'comment', '#', 'echo', 'for', 'break', 'continue', 'if', 'unless', 'raw']
/** The filters of Liquid that make text of their input and arguments. */
const TEXT_FILTERS: ReadonlySet<string> = new Set([
  'append',
  'prepend',
  'upcase',
  'downcase',
  'capitalize',
  'newline_to_br',
  'strip_newlines',
  'url_encode',
  'escape',
  'truncate',
  'base64_encode',
])
/** The filters of Liquid that take time in proportion to their input at most. */
const FILTERS: ReadonlySet<string> = new Set([
  ...TEXT_FILTERS,
  'abs',
  'at_least',
  'at_most',
  'ceil',
  'divided_by',
  'floor',
  'minus',
  'modulo',
  'plus',
  'round',
  'times',
  'slice',
  'default',
  'compact',
  'concat',
  'first',
  'last',
  'map',
  'reverse',
  'size',
  'uniq',
])
/** Their first argument is searched for. */
const SEARCHING = ['remove', 'remove_first', 'replace', 'replace_first', 'split']

type Filter = Extract<FilterImplOptions, (...args: never[]) => unknown>
type This = ThisParameterType<Filter>

/**
 * Creates an engine of templates: Liquid with the tags and filters that a stranger may use, within limits. The
 * templates of a flow's steps have more filters, and their output is escaped.
 */
export function createTemplateEngine({ forSteps = false } = {}) {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    // An event that lacks a fact is no mistake of the template.
    strictVariables: false,
    // No template is read from a disk.
    templates: {},
    timezoneOffset: 0,
    operators: LIMITED_OPERATORS,
    outputEscape: forSteps ? putOut : limited(textOf),
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.includes(name)) delete liquid.tags[name]
  liquid.registerTag('case', LimitedCase)
  for (const [name, filter] of Object.entries(liquid.filters)) {
    delete liquid.filters[name]
    if (typeof filter !== 'function') continue
    if (FILTERS.has(name)) liquid.registerFilter(name, limited(TEXT_FILTERS.has(name) ? withText(filter) : filter))
    if (name === 'date') liquid.registerFilter(name, limited(short(filter)))
    if (SEARCHING.includes(name)) liquid.registerFilter(name, limited(searching(filter)))
  }
  for (const [name, filter] of Object.entries(OWN_FILTERS)) liquid.registerFilter(name, limited(filter))
  if (forSteps) addStepFilters(liquid)
  liquid.registerFilter(RANGE_BOUND, rangeBound)
  limitRanges()
  liquid.renderer.renderTemplates = renderTemplates
  return {
    parse: (text: string): Template[] => liquid.parse(text),
    render(template: Template[], data: object, limits: JobLimits, escaping: Escaping = 'none'): RenderedTemplate {
      const context = new ReportingContext(data, { options: liquid.options, liquid }, limits)
      const emitter = forSteps ? new LimitedEmitter(context, createWriting(escaping)) : new LimitedEmitter(context)
      context.reported = emitter
      try {
        const text: unknown = toValueSync(renderTemplates(template, context, emitter))
        const whole = typeof text === 'string' ? finished(escaping, text) : text
        return { text: whole, units: context.usedUnits, empty: context.empty }
      } catch (error) {
        return { error, units: context.usedUnits }
      }
    },
  }
}

/** A result, or the error of the rendering, and the units that were used until then. */
export type RenderedTemplate = { readonly units: number } & (
  | { readonly text: unknown; readonly empty: readonly EmptyExpression[] }
  | { readonly error: unknown }
)

/** An expression without text, and its place in the result. */
export type EmptyExpression = {
  readonly expression: string
  readonly line: number
  readonly column: number
  readonly at: number
}

const MAX_EMPTY = 20

/** Notes the expressions without text, which explain to its owner why a template gives no JSON. */
class ReportingContext extends LimitedContext {
  readonly empty: EmptyExpression[] = []
  /** The emitter of the result itself, not of a capture. */
  reported: Emitter | undefined

  /** Escaped text has the properties of text alone. */
  override readProperty(scope: Scope, key: string | number | Drop): unknown {
    if (!(scope instanceof Escaped)) return super.readProperty(scope, key)
    return key === 'size' ? scope.text.length : undefined
  }

  noteEmpty({ token }: Template, at: number): void {
    if (this.empty.length >= MAX_EMPTY) return
    const [line = 1, column = 1] = token.getPosition()
    this.empty.push({ expression: token.getText(), line, column, at })
  }
}

/** Renders like Liquid, but counts all text that is written, in captures too. */
function* renderTemplates(
  templates: Template[],
  context: Context,
  emitter: Emitter = new LimitedEmitter(context),
): Generator<unknown, string> {
  const own = context instanceof ReportingContext ? context : undefined
  for (const template of templates) {
    context.renderLimit.check(performance.now())
    const before = emitter.buffer.length
    try {
      const text: unknown = yield template.render(context, emitter)
      if (text) emitter.write(text)
    } catch (error) {
      throw LiquidError.is(error) ? error : new RenderError(error instanceof Error ? error : new Error(), template)
    }
    if (emitter === own?.reported && template instanceof Output && emitter.buffer.length === before)
      own.noteEmpty(template, before)
    if (context.breakCalled || context.continueCalled) break
  }
  return emitter.buffer
}

/** Makes a filter check the time and count its input. */
const limited = (filter: Filter): Filter =>
  function (this: This, value: unknown, ...args: unknown[]): unknown {
    const { renderLimit, memoryLimit } = this.context
    renderLimit.check(performance.now())
    memoryLimit.use(unitsOf(value))
    for (const arg of args) memoryLimit.use(unitsOf(arg))
    return filter.call(this, plainOf(value), ...args.map(plainOf))
  }

/** Returns escaped text as plain text: a filter that changes it makes it unsafe again. */
const plainOf = (value: unknown): unknown => (value instanceof Escaped ? value.text : value)

/** Keeps the value of an output tag until the emitter, which knows where it stands, makes text of it. */
const putOut: Filter = function (this: This, value: unknown): PutOut {
  const { renderLimit, memoryLimit } = this.context
  renderLimit.check(performance.now())
  memoryLimit.use(unitsOf(value))
  return new PutOut(value)
}

/** Adds the filters of steps, and marks what the escaping filters return. */
function addStepFilters(liquid: Liquid): void {
  const { map: mapOfLiquid } = liquid.filters
  for (const [name, filter] of Object.entries(STEP_FILTERS)) liquid.registerFilter(name, limited(filter))
  liquid.registerFilter('map', function (this: This, value: unknown, table: unknown): unknown {
    if (typeof table !== 'string' && typeof mapOfLiquid === 'function')
      return limited(mappedFrom).call(this, value, table)
    return typeof mapOfLiquid === 'function' ? mapOfLiquid.call(this, value, table) : undefined
  })
  for (const by of ESCAPING_FILTERS) {
    const filter = liquid.filters[by]
    if (typeof filter !== 'function') continue
    liquid.registerFilter(by, function (this: This, ...args: Parameters<Filter>): unknown {
      return new Escaped(textOf(filter.call(this, ...args)), by)
    })
  }
}

/** A map that the parameters lack has no entries. */
const mappedFrom: Filter = (value: unknown, table: unknown) =>
  typeof table === 'object' && table !== null ? mapped(value, table) : undefined

const STEP_FILTERS: Readonly<Record<string, Filter>> = {
  raw: textOf,
  url_encode: (value: unknown) => encodeURIComponent(textOf(value).toWellFormed()).replaceAll('%20', '+'),
  digits,
  last_digits: lastDigits,
  md5,
  national,
  seconds,
  spellings,
  local_time: localTime,
}

/** Makes a filter take objects as JSON, as an output does. */
const withText = (filter: Filter): Filter =>
  function (this: This, ...values: unknown[]): unknown {
    const [value, ...args] = values.map((one) => (hasObject(one) ? textOf(one) : one))
    return filter.call(this, value, ...args)
  }

const searching = (filter: Filter): Filter =>
  function (this: This, value: unknown, pattern: unknown, ...args: unknown[]): unknown {
    refuseLongSearch(value, pattern)
    return filter.call(this, value, pattern, ...args)
  }

const short = (date: Filter): Filter =>
  function (this: This, value: unknown, ...args: unknown[]): unknown {
    if ([value, ...args].some((one) => textOf(one).length > MAX_DATE_CHARACTERS))
      throw new Error(`a date and its format may have ${MAX_DATE_CHARACTERS} characters at most`)
    return date.call(this, value, ...args)
  }

/** Filters that Liquid lacks, or that take too long there. */
const OWN_FILTERS: Readonly<Record<string, Filter>> = {
  json: (value: unknown) => JSON.stringify(value ?? null),

  /** Liquid's own writes an object as `[object Object]`. */
  join: (list: unknown, separator: unknown = ' ') => listOf(list).map(textOf).join(textOf(separator)),
  strip: (value: unknown) => textOf(value).trim(),
  lstrip: (value: unknown) => textOf(value).trimStart(),
  rstrip: (value: unknown) => textOf(value).trimEnd(),

  /** Liquid's own evaluates an expression for each item without checking a limit. */
  where(list: unknown, property: unknown, wanted: unknown) {
    const path = pathOf(property)
    return listOf(list).filter((item) => isSelected(propertyAt(item, path), wanted))
  },

  /** Liquid's own compares lists and texts of any length. */
  sort(list: unknown, property: unknown) {
    refuseLong(list)
    const path = property === undefined ? [] : pathOf(property)
    return listOf(list)
      .map((item) => ({ item, key: keyOf(propertyAt(item, path)) }))
      .toSorted((one, other) => compareKeys(one.key, other.key))
      .map(({ item }) => item)
  },
}

function listOf(list: unknown): readonly unknown[] {
  if (list === undefined || list === null) return []
  return Array.isArray(list) ? list : [list]
}
const pathOf = (property: unknown): readonly string[] => textOf(property).split('.', MAX_PATH)
/** Above the depth of any data. */
const MAX_PATH = 20

const isSelected = (value: unknown, wanted: unknown): boolean =>
  wanted === undefined ? value !== undefined && value !== null && value !== false : value === wanted

/** Returns the property of a value that a path names; `undefined` if it has none of its own. */
const propertyAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (within, name) =>
      typeof within === 'object' && within !== null && Object.hasOwn(within, name)
        ? Object.getOwnPropertyDescriptor(within, name)?.value
        : undefined,
    value,
  )

type Key = string | number | boolean | undefined
const keyOf = (value: unknown): Key =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : undefined

/** Orders two keys; an item without one comes last. */
function compareKeys(one: Key, other: Key): number {
  if (one === undefined || other === undefined) return Number(one === undefined) - Number(other === undefined)
  if (one < other) return -1
  return one > other ? 1 : 0
}
