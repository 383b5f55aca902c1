import { Liquid, LiquidError, type Template } from 'liquidjs'

/**
 * Bodies as their owner writes them, in Liquid. A template is a stranger's program that runs within ours, so it has no
 * files, no code, no properties but the data's own, and limits: on its length and depth before it is read, on time and
 * memory while it is rendered, and on what comes out.
 */
export type BodyTemplate = (data: object) => string

/** The error of a template, as a sentence for its owner. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
  /** It took too long. */
  get isSlow(): boolean {
    return this.message.endsWith(TOO_SLOW)
  }
}

export const MAX_TEMPLATE_CHARACTERS = 16_384
/** Parsing takes time that grows with the square of the depth. */
const MAX_DEPTH = 32
/** A template of a page takes some 30 µs. */
const MAX_RENDER_MS = 10
/** A hostile template is rendered twice, since it keeps the processor busy. */
const MAX_TRIES = 6
const TOO_SLOW = `takes longer than ${MAX_RENDER_MS} ms`
/** Characters of text and items of lists that all its filters and tags may make. */
const MAX_MEMORY = 500_000
const MAX_RESULT_CHARACTERS = 500_000
const MAX_DATE_FORMAT = 100

const TAGS = ['assign', 'capture', 'case', 'comment', '#', 'echo', 'for', 'break', 'continue', 'if', 'unless', 'raw']
/** None of these takes long on anything that fits into the memory. */
const FILTERS = [
  ...['abs', 'at_least', 'at_most', 'ceil', 'divided_by', 'floor', 'minus', 'modulo', 'plus', 'round', 'times'],
  ...[
    'append',
    'prepend',
    'upcase',
    'downcase',
    'capitalize',
    'escape',
    'newline_to_br',
    'strip_newlines',
    'url_encode',
  ],
  ...['remove', 'remove_first', 'replace', 'replace_first', 'slice', 'split', 'truncate', 'base64_encode'],
  ...['compact', 'concat', 'first', 'join', 'last', 'map', 'reverse', 'size', 'sort', 'uniq', 'where', 'default'],
]
const BLOCK_TAG = /\{%-?\s*(end)?(if|unless|case|for|capture|comment|raw)\b/g

/** Reads a template. @throws TemplateError with the line and column of what is wrong. */
export function parseTemplate(text: string): BodyTemplate {
  if (text.length > MAX_TEMPLATE_CHARACTERS)
    throw new TemplateError(`may have ${MAX_TEMPLATE_CHARACTERS} characters at most`)
  if (depthOf(text) > MAX_DEPTH) throw new TemplateError(`may have tags within tags ${MAX_DEPTH} deep at most`)
  const template = tried(() => engine.parse(text))
  return (data) => {
    const result = rendered(template, data)
    if (typeof result !== 'string') throw new TemplateError('gives no text')
    if (result.length > MAX_RESULT_CHARACTERS)
      throw new TemplateError(`gives more than ${MAX_RESULT_CHARACTERS.toLocaleString('en')} characters`)
    return result
  }
}

/**
 * Renders again if it took too long by the clock: on a busy machine it was perhaps not the template that took the time.
 * It was if the processor has worked for that long.
 */
function rendered(template: Template[], data: object): unknown {
  const render = () => tried((): unknown => engine.renderSync(template, data))
  try {
    return render()
  } catch (error) {
    if (!isSlow(error)) throw error
  }
  for (let left = MAX_TRIES - 1; ; left -= 1) {
    const startedUs = processorUs()
    try {
      return render()
    } catch (error) {
      const isOurs = processorUs() - startedUs > MAX_RENDER_MS * 500
      if (!isSlow(error) || left === 1 || isOurs) throw error
    }
  }
}

/** Returns for how long the processor has worked for this program. Asking takes some 10 µs. */
export function processorUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const isSlow = (error: unknown): boolean => error instanceof TemplateError && error.isSlow

const engine = newEngine()

function newEngine(): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    strictFilters: true,
    // An event that lacks a fact is no mistake of the template.
    strictVariables: false,
    parseLimit: MAX_TEMPLATE_CHARACTERS,
    renderLimit: MAX_RENDER_MS,
    memoryLimit: MAX_MEMORY,
    // Nothing is read from a disk: there are no templates but the one.
    templates: {},
    timezoneOffset: 0,
  })
  for (const name of Object.keys(liquid.tags)) if (!TAGS.includes(name)) delete liquid.tags[name]
  const builtInDate = liquid.filters.date
  for (const name of Object.keys(liquid.filters)) if (!FILTERS.includes(name)) delete liquid.filters[name]
  // `this` has the memory that is left for the rendering.
  liquid.registerFilter('json', function (value: unknown) {
    const text = JSON.stringify(value ?? null)
    this.context.memoryLimit.use(text.length)
    return text
  })
  liquid.registerFilter('strip', (value: unknown) => String(value ?? '').trim())
  liquid.registerFilter('lstrip', (value: unknown) => String(value ?? '').trimStart())
  liquid.registerFilter('rstrip', (value: unknown) => String(value ?? '').trimEnd())
  liquid.registerFilter('date', function (value: unknown, format: unknown, ...rest: unknown[]) {
    if (String(format ?? '').length > MAX_DATE_FORMAT)
      throw new TemplateError(`a date's format may have ${MAX_DATE_FORMAT} characters at most`)
    return typeof builtInDate === 'function' ? builtInDate.call(this, value, format, ...rest) : value
  })
  // The built-in one evaluates an expression for each item, and asks for no limit meanwhile.
  liquid.registerFilter('where', function (list: unknown, property: unknown, ...wanted: unknown[]) {
    const items: unknown[] = Array.isArray(list) ? list : []
    this.context.memoryLimit.use(items.length)
    const path = String(property ?? '').split('.')
    return items.filter((item) => isSelected(propertyAt(item, path), wanted))
  })
  return liquid
}

const isSelected = (value: unknown, [wanted]: readonly unknown[]): boolean =>
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

/** Returns an upper bound, from the text alone, on how deep block tags are nested. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (const [, end] of text.matchAll(BLOCK_TAG)) {
    depth = Math.max(0, depth + (end === undefined ? 1 : -1))
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

function tried<Result>(run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw new TemplateError(sentenceOf(error), { cause: error })
  }
}

/** `line 2, column 3: …`, with nothing of ours in it. */
function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return 'cannot be rendered'
  const message = error.message
  const [, what = message, line, column] = /^(.*?)(?:, line:(\d+), col:(\d+))?$/s.exec(message) ?? []
  const plain = LIMITS.find(([pattern]) => pattern.test(what))?.[1] ?? what.split('\n')[0]
  return error instanceof LiquidError || line !== undefined
    ? `line ${line ?? 1}, column ${column ?? 1}: ${plain}`
    : `${plain}`
}

const LIMITS: readonly (readonly [RegExp, string])[] = [
  [/render limit exceeded/, TOO_SLOW],
  [/memory alloc limit|out of memory|Invalid string length/i, 'needs more memory than a template may have'],
  [/call stack/i, 'has too much within each other'],
]
