import type { Escaping } from './content-escaping.ts'
import type { EmptyExpression } from './engine.ts'
import { processorUs } from './engine-limits.ts'
import { MAX_UNITS } from './limits.ts'
import { type Problem, type ReadTemplate, type Rendered, readTemplate } from './template.ts'

/**
 * A template, and whether its result has to be JSON or empty. `escaping`: it is a template of a flow's step, with the
 * filters of steps, and its output is escaped. `isOnlyParsed`: the result is empty.
 */
export type TemplateText = {
  readonly text: string
  readonly isJson?: boolean
  readonly escaping?: Escaping
  readonly isOnlyParsed?: boolean
}

/** The rendered text, or the reason of the failure. */
export type JobRendering = { readonly text: string } | { readonly problem: string; readonly kind: Problem['kind'] }

/** The renderings of a job in the order of its templates, its cost in units, and its time, exact on average only. */
type JobResult = { readonly renderings: readonly JobRendering[]; readonly units: number; readonly tookUs: number }

/** Characters of templates that are kept parsed; each takes some 100 bytes. */
const MAX_KNOWN_CHARACTERS = 300_000
const known = new Map<string, ReadTemplate | Problem>()
let knownCharacters = 0

/** Renders templates with the same data, at once. Never throws. */
export function renderJob(templates: readonly TemplateText[], data: string): JobResult {
  const startedUs = processorUs()
  const parsed: object = JSON.parse(data)
  const read = templates.map(templateOf)
  // Neither the size of an event nor the first reading of a template is the fault of its rendering.
  const limits = { startedUs: processorUs(), units: 0, maxUnits: MAX_UNITS + data.length }
  const renderings = templates.map(({ isOnlyParsed, isJson = false }, at): JobRendering => {
    const template = read[at]
    if (template === undefined) return { text: '' }
    if (typeof template !== 'function') return template
    if (isOnlyParsed) return { text: '' }
    const rendered = template(parsed, limits)
    limits.units += rendered.units
    return checked(rendered, isJson)
  })
  return { renderings, units: limits.units, tookUs: processorUs() - startedUs }
}

function templateOf({ text, escaping }: TemplateText): ReadTemplate | Problem {
  const key = `${escaping ?? ''}:${text}`
  const present = known.get(key)
  if (present !== undefined) return present
  if (knownCharacters > MAX_KNOWN_CHARACTERS) {
    known.clear()
    knownCharacters = 0
  }
  const template = readTemplate(text, escaping)
  known.set(key, template)
  knownCharacters += text.length
  return template
}

function checked(rendered: Rendered, isJson: boolean): JobRendering {
  if ('problem' in rendered) return { problem: rendered.problem, kind: rendered.kind }
  const { text, empty } = rendered
  if (text.trim() === '') return { text: '' }
  const problem = isJson ? jsonProblem(text, empty) : undefined
  return problem === undefined ? { text } : { problem, kind: 'no_json' }
}

/** Returns why a text is not JSON; `undefined` if it is. */
function jsonProblem(text: string, empty: readonly EmptyExpression[]): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    const missing = empty.find(({ at }) => isValueMissing(text, at))
    if (missing !== undefined) {
      const { expression, line, column } = missing
      return `${expression.slice(0, MAX_QUOTED)} in line ${line}, column ${column} is empty where JSON needs a value: add "| json" to it`
    }
    const reason = error instanceof Error ? error.message.replace(/^JSON Parse error: /, '').slice(0, MAX_QUOTED) : ''
    return `${reason}; {{ … | json }} writes a value with its quotes`
  }
}

const MAX_QUOTED = 100

/** Returns whether a value belongs at this place of a text: `{"a": , …`. */
const isValueMissing = (text: string, at: number): boolean =>
  /(?:^|[:[,])\s*$/.test(text.slice(Math.max(0, at - 20), at)) && /^\s*(?:[\]},]|$)/.test(text.slice(at, at + 20))
