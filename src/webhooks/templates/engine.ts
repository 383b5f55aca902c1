import {
  type Context,
  type Emitter,
  type FilterImplOptions,
  Liquid,
  LiquidError,
  Output,
  RenderError,
  type Template,
  toValueSync,
} from 'liquidjs'
import {
  LIMITED_OPERATORS,
  LimitedCase,
  LimitedContext,
  LimitedEmitter,
  limitRanges,
  RANGE_BOUND,
  rangeBound,
  refuseLong,
  refuseLongSearch,
  textOf,
  unitsOf,
} from './engine-limits.ts'

const MAX_DATE_CHARACTERS = 100

const TAGS = ['assign', 'capture', 'case', 'comment', '#', 'echo', 'for', 'break', 'continue', 'if', 'unless', 'raw']
/** The filters of Liquid that take time in proportion to their input at most. */
const FILTERS: ReadonlySet<string> = new Set([
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
  'append',
  'prepend',
  'upcase',
  'downcase',
  'capitalize',
  'newline_to_br',
  'strip_newlines',
  'url_encode',
  'escape',
  'slice',
  'truncate',
  'base64_encode',
  'default',
  'compact',
  'concat',
  'first',
  'join',
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

/** Creates the engine of templates: Liquid with the tags and filters that a stranger may use, within limits. */
export function createTemplateEngine() {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    // An event that lacks a fact is no mistake of the template.
    strictVariables: false,
    // No template is read from a disk.
    templates: {},
    timezoneOffset: 0,
    operators: LIMITED_OPERATORS,
    outputEscape: limited(textOf),
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.includes(name)) delete liquid.tags[name]
  liquid.registerTag('case', LimitedCase)
  for (const [name, filter] of Object.entries(liquid.filters)) {
    delete liquid.filters[name]
    if (typeof filter !== 'function') continue
    if (FILTERS.has(name)) liquid.registerFilter(name, limited(filter))
    if (name === 'date') liquid.registerFilter(name, limited(short(filter)))
    if (SEARCHING.includes(name)) liquid.registerFilter(name, limited(searching(filter)))
  }
  for (const [name, filter] of Object.entries(OWN_FILTERS)) liquid.registerFilter(name, limited(filter))
  liquid.registerFilter(RANGE_BOUND, rangeBound)
  limitRanges()
  liquid.renderer.renderTemplates = renderTemplates
  return {
    parse: (text: string): Template[] => liquid.parse(text),
    /** @param startedUs the processor's time of this thread when the rendering began */
    render(template: Template[], data: object, startedUs: number): RenderedTemplate {
      const context = new ReportingContext(data, { options: liquid.options, liquid }, startedUs)
      try {
        const text: unknown = toValueSync(renderTemplates(template, context, context.emitter))
        return { text, units: context.usedUnits, empty: context.empty }
      } catch (error) {
        return { error, units: context.usedUnits }
      }
    },
  }
}

/** A result, or the error of the rendering, and the units that were used until then. */
type RenderedTemplate = { readonly units: number } & (
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
  readonly emitter = new LimitedEmitter(this)

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
    if (emitter === own?.emitter && template instanceof Output && emitter.buffer.length === before)
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
