import { LiquidError, type Template } from 'liquidjs'
import { createTemplateEngine } from './template-engine.ts'
import { MAX_RENDER_MS } from './template-limits.ts'

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
/** The last try on a busy machine. A hostile template is rendered twice, since it keeps the processor busy. */
const MAX_BUSY_MS = 16 * MAX_RENDER_MS
const TOO_SLOW = `takes longer than ${MAX_RENDER_MS} ms`
const MAX_RESULT_CHARACTERS = 500_000

const BLOCK_TAG = /\{%-?\s*(end)?(if|unless|case|for|capture|comment|raw)\b/g

/** Reads a template. @throws TemplateError with the line and column of what is wrong. */
export function parseTemplate(text: string): BodyTemplate {
  if (text.length > MAX_TEMPLATE_CHARACTERS)
    throw new TemplateError(`may have ${MAX_TEMPLATE_CHARACTERS} characters at most`)
  if (depthOf(text) > MAX_DEPTH) throw new TemplateError(`may have tags within tags ${MAX_DEPTH} deep at most`)
  if (bracketDepthOf(text) > MAX_DEPTH)
    throw new TemplateError(`may have brackets within brackets ${MAX_DEPTH} deep at most`)
  const template = tried(() => theEngine().parse(text))
  return (data) => {
    const result = rendered(template, data)
    if (typeof result !== 'string') throw new TemplateError('gives no text')
    if (result.length > MAX_RESULT_CHARACTERS)
      throw new TemplateError(`gives more than ${MAX_RESULT_CHARACTERS.toLocaleString('en')} characters`)
    return result
  }
}

/**
 * Renders again if it took too long by the clock, and with more time each time: on a busy machine it was perhaps not
 * the template that took it. It was if this thread has worked for half of the limit.
 */
function rendered(template: Template[], data: object): unknown {
  const render = (limitMs: number) => tried((): unknown => theEngine().render(template, data, limitMs))
  try {
    return render(MAX_RENDER_MS)
  } catch (error) {
    if (!isSlow(error)) throw error
  }
  for (let limitMs = MAX_RENDER_MS; ; limitMs *= 2) {
    const startedUs = processorUs()
    try {
      return render(limitMs)
    } catch (error) {
      const isOurs = processorUs() - startedUs > MAX_RENDER_MS * 500
      if (!isSlow(error) || limitMs >= MAX_BUSY_MS || isOurs) throw error
    }
  }
}

/** Returns for how long the processor has worked for this thread. Asking takes some 4 µs. */
export function processorUs(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

const isSlow = (error: unknown): boolean => error instanceof TemplateError && error.isSlow

let engine: ReturnType<typeof createTemplateEngine> | undefined

/** Returns the one engine. It takes some 20 ms to create, which no command without a template should. */
function theEngine() {
  engine ??= createTemplateEngine()
  return engine
}

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

const LIQUID = /\{([{%])[\s\S]*?(?:[}%]\}|$)/g

/** Returns how deep brackets are nested in what is Liquid: in the text around it they mean nothing. */
function bracketDepthOf(text: string): number {
  let deepest = 0
  for (const [liquid] of text.matchAll(LIQUID)) {
    let depth = 0
    for (const [bracket] of liquid.matchAll(/[[\]()]/g)) {
      depth = Math.max(0, depth + (bracket === '[' || bracket === '(' ? 1 : -1))
      deepest = Math.max(deepest, depth)
    }
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
