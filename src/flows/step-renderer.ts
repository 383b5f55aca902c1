import { foreignJsonOf } from '../lib/foreign-json.ts'
import { MILLISECOND } from '../lib/time.ts'
import {
  type Escaping,
  escapingOf,
  type Rendering,
  type RenderRequest,
  type TemplateRenderer,
  type TemplateText,
} from '../templates/templates.ts'
import { type Kept, MAX_ELEMENTS, type Parameters, type Step } from './model.ts'

/** The data of a step's templates. */
export type StepData = {
  /** The event's default body as JSON text: `time` and `data`. */
  readonly body: string
  readonly kept: Kept
  /** The kept values of the calls that were merged into this one, in the order of `merged_from`. */
  readonly merged: readonly { readonly kept: Kept }[]
  readonly parameters: Parameters
  /** The element of `each`; `undefined` if the step has no `each`. */
  readonly item?: unknown
}

/** Rendering failed. `problem` is a sentence for the owner that begins with the step's field: `url: line 1, …`. */
export type StepProblem = {
  readonly problem: string
  /** The wrong field: `url`, `headers/x-key`, `upload/fields/name`, … */
  readonly field: string
  /** The templates are not wrong: they can be rendered after this time. */
  readonly retryAfterMs?: number
}

/** A rendered request, not yet joined to the webhook's URL. */
export type RenderedStep = {
  /** As rendered: template output is escaped for a URL component. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** `null`: the step has no body. */
  readonly body: string | null
  /** The further fields of an upload form; empty for other requests. */
  readonly fields: Readonly<Record<string, string>>
}

/** Renders the templates of steps, for one account and purpose. Never rejects. */
export type StepRenderer = {
  /** Renders `each`. Returns an array with at most MAX_ELEMENTS. */
  elements(step: Step, data: StepData): Promise<{ readonly elements: readonly unknown[] } | StepProblem>
  /** Renders `if` alone. Returns `skipped` if it is empty or `false`. */
  condition(step: Request, data: StepData): Promise<{ readonly isMet: true } | { readonly skipped: true } | StepProblem>
  /** Renders `if`, then the request unless the step is skipped. Returns `skipped` if `if` is empty or `false`. */
  request(
    step: Request,
    data: StepData,
  ): Promise<{ readonly request: RenderedStep } | { readonly skipped: true } | StepProblem>
  /** Parses every template without rendering. Returns the problems, each with line and column. */
  problems(step: Request): Promise<readonly StepProblem[]>
}

type Request = Omit<Step, 'name' | 'on'>

/**
 * Creates the renderer for the steps of an account's flows. Templates of strangers are rendered in their own thread.
 */
export function createStepRenderer(
  templates: TemplateRenderer,
  { accountId, purpose }: Pick<RenderRequest<string>, 'accountId' | 'purpose'>,
): StepRenderer {
  const render = (texts: Templates, data: StepData) =>
    templates.render({ accountId, purpose, templates: texts, data: dataOf(data) })
  return {
    async elements({ each }, data) {
      const rendered = await render({ each: listTemplate(each ?? '[]') }, data)
      return elementsOf(rendered.each)
    },

    async condition(step, data) {
      if (step.if === null) return { isMet: true }
      const rendered = await render({ if: conditionTemplate(step.if) }, data)
      if (isSkipped(rendered.if)) return { skipped: true }
      return problemsOf(rendered)[0] ?? { isMet: true }
    },

    async request(step, data) {
      const texts = templatesOf(step)
      const rendered = await render(texts, data)
      if (isSkipped(rendered.if)) return { skipped: true }
      const [problem] = problemsOf(rendered)
      if (problem !== undefined) return problem
      const textOf = (field: string): string => {
        const one = rendered[field]
        return one !== undefined && 'text' in one ? one.text : ''
      }
      const under = (prefix: string, names: object): Record<string, string> =>
        Object.fromEntries(Object.keys(names).map((name) => [name, textOf(`${prefix}${name}`)]))
      const body = step.body === null ? null : textOf('body')
      return {
        request: {
          url: textOf('url'),
          headers: under(HEADERS, step.headers),
          body,
          fields: under(FIELDS, fieldsOf(step)),
        },
      }
    },

    async problems(step) {
      const texts = { ...templatesOf(step), ...(step.each === null ? {} : { each: listTemplate(step.each) }) }
      const parsed = Object.entries(texts).map(([field, text]) => [field, { ...text, isOnlyParsed: true }] as const)
      return problemsOf(
        await templates.render({ accountId, purpose, templates: Object.fromEntries(parsed), data: '{}' }),
      )
    },
  }
}

type Templates = Readonly<Record<string, TemplateText>>
const HEADERS = 'headers/'
const FIELDS = 'upload/fields/'

const conditionTemplate = (text: string): TemplateText => ({ text, escaping: 'none', isJson: false })
const listTemplate = (text: string): TemplateText => ({ text, escaping: 'json', isJson: true })
const fieldsOf = ({ upload }: Request): Readonly<Record<string, string>> =>
  upload === null || upload === 'recording' ? {} : (upload.fields ?? {})

/** Returns the templates of a request, each under the name of its field. */
function templatesOf(step: Request): Templates {
  const bodyEscaping = escapingOf(step.content_type)
  const all: [string, string | null, Escaping][] = [
    ['if', step.if, 'none'],
    ['url', step.url, 'url'],
    ['body', step.body, bodyEscaping],
    ...Object.entries(step.headers).map(([name, text]): [string, string | null, Escaping] => [
      `${HEADERS}${name}`,
      text,
      'header',
    ]),
    ...Object.entries(fieldsOf(step)).map(([name, text]): [string, string, Escaping] => [
      `${FIELDS}${name}`,
      text,
      'none',
    ]),
  ]
  return Object.fromEntries(
    all.flatMap(([field, text, escaping]): [string, TemplateText][] =>
      text === null ? [] : [[field, { text, escaping, isJson: field === 'body' && bodyEscaping === 'json' }]],
    ),
  )
}

/** The event's body, and the step's own data. */
function dataOf({ body, kept, merged, parameters, item }: StepData): string {
  const further = JSON.stringify({ kept, merged, parameters, ...(item === undefined ? {} : { item }) })
  return `${body.slice(0, body.lastIndexOf('}'))},${further.slice(1)}`
}

const isSkipped = (condition: Rendering | undefined): boolean =>
  condition !== undefined && 'text' in condition && ['', 'false'].includes(condition.text.trim())

const problemsOf = (rendered: Readonly<Record<string, Rendering>>): StepProblem[] =>
  Object.entries(rendered).flatMap(([field, one]) =>
    'problem' in one
      ? [
          {
            field,
            problem: `${field}: ${one.kind === 'no_json' ? `is not JSON: ${one.problem}` : one.problem}`,
            ...(one.kind === 'busy' ? { retryAfterMs: Math.ceil(one.afterUs / MILLISECOND) } : {}),
          },
        ]
      : [],
  )

function elementsOf(rendered: Rendering | undefined): { readonly elements: readonly unknown[] } | StepProblem {
  const [problem] = problemsOf(rendered === undefined ? {} : { each: rendered })
  if (problem !== undefined) return problem
  const text = rendered !== undefined && 'text' in rendered ? rendered.text : ''
  const elements: unknown = text === '' ? undefined : foreignJsonOf(text)
  if (!Array.isArray(elements)) return { field: 'each', problem: 'each: does not render to a JSON array' }
  return elements.length <= MAX_ELEMENTS
    ? { elements }
    : { field: 'each', problem: `each: renders to ${elements.length} elements; at most ${MAX_ELEMENTS} are allowed` }
}
