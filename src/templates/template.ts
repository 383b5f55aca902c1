import { LiquidError } from 'liquidjs'
import type { Escaping } from './content-escaping.ts'
import { createTemplateEngine, type EmptyExpression, type RenderedTemplate } from './engine.ts'
import { type JobLimits, processorUs } from './engine-limits.ts'
import { MAX_DEPTH, MAX_RENDER_MS, MAX_RESULT_CHARACTERS, MAX_TEMPLATE_CHARACTERS, MAX_UNITS } from './limits.ts'

/**
 * Templates as their owners write them, in Liquid. A template is a stranger's program. So it can reach no files, no
 * code and no inherited properties, and has limits: on its length and depth when it is read, on time and memory when it
 * is rendered, and on its result.
 */
export type ReadTemplate = (data: object, limits?: JobLimits) => Rendered

/** The result of a template and the units that it used. A problem is a sentence for its owner. */
export type Rendered = { readonly units: number } & (
  | { readonly text: string; readonly empty: readonly EmptyExpression[] }
  | Problem
)
export type Problem = {
  readonly problem: string
  /** `costly`: it reached a limit of time or memory. */
  readonly kind: 'wrong' | 'costly' | 'no_json'
}

const BLOCK_TAG = /\{%-?\s*(end)?(if|unless|case|for|capture|comment|raw)\b/g

/**
 * Parses a template. Returns the function that renders it, or the problem with line and column. With `escaping` it is a
 * template of a flow's step.
 */
export function readTemplate(text: string, escaping?: Escaping): ReadTemplate | Problem {
  if (text.length > MAX_TEMPLATE_CHARACTERS) return refused(`may have ${MAX_TEMPLATE_CHARACTERS} characters at most`)
  if (depthOf(text) > MAX_DEPTH) return refused(`may have tags nested ${MAX_DEPTH} deep at most`)
  if (bracketDepthOf(text) > MAX_DEPTH) return refused(`may have brackets nested ${MAX_DEPTH} deep at most`)
  try {
    const engine = escaping === undefined ? bodyEngine() : stepEngine()
    const template = engine.parse(text)
    const render = (data: object, limits: JobLimits) => renderedOf(engine.render(template, data, limits, escaping))
    return (data, limits = { startedUs: processorUs(), units: 0, maxUnits: MAX_UNITS }) => {
      const once = render(data, limits)
      // The first rendering also compiles parts of the engine, which is not the template's fault.
      const isSlow = 'problem' in once && once.problem.endsWith(TOO_SLOW)
      return isSlow ? render(data, { ...limits, startedUs: processorUs() }) : once
    }
  } catch (error) {
    return problemOf(error)
  }
}

function renderedOf(result: RenderedTemplate): Rendered {
  const { units } = result
  if ('error' in result) return { units, ...problemOf(result.error) }
  const { text, empty } = result
  if (typeof text !== 'string') return { units, ...refused('gives no text') }
  if (text.length > MAX_RESULT_CHARACTERS)
    return { units, ...refused(`gives more than ${MAX_RESULT_CHARACTERS.toLocaleString('en')} characters`) }
  return { units, text, empty }
}

const refused = (problem: string): Problem => ({ problem, kind: 'wrong' })

/** Creates an engine when it is first asked for: that takes some 20 ms, which no command without a template should. */
function created(forSteps: boolean) {
  let engine: ReturnType<typeof createTemplateEngine> | undefined
  return () => {
    engine ??= createTemplateEngine({ forSteps })
    return engine
  }
}
const bodyEngine = created(false)
const stepEngine = created(true)

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

/** Returns the depth of brackets inside Liquid tags; in the text around them brackets mean nothing. */
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

/** Returns an error as a sentence for the owner of the template: `line 2, column 3: …`, without internal details. */
function problemOf(error: unknown): Problem {
  if (!(error instanceof Error)) return refused('cannot be rendered')
  const [, what = error.message, line, column] = /^(.*?)(?:, line:(\d+), col:(\d+))?$/s.exec(error.message) ?? []
  const limit = LIMITS.find(([pattern]) => pattern.test(what))?.[1]
  const plain = limit ?? what.split('\n')[0]?.slice(0, MAX_PROBLEM_CHARACTERS)
  const place = error instanceof LiquidError || line !== undefined ? `line ${line ?? 1}, column ${column ?? 1}: ` : ''
  return { problem: `${place}${plain}`, kind: limit === undefined ? 'wrong' : 'costly' }
}

const TOO_SLOW = `takes longer than ${MAX_RENDER_MS} ms`
/** The messages of Liquid repeat the text that it could not read. */
const MAX_PROBLEM_CHARACTERS = 300

const LIMITS: readonly (readonly [RegExp, string])[] = [
  [/render limit exceeded/, TOO_SLOW],
  [/memory alloc limit|out of memory|Invalid string length/i, 'needs more memory than a template may have'],
  [/call stack/i, 'is nested too deep'],
]
