import { EVENT_NAMES } from '../../events/kinds.ts'
import type { FieldError } from '../../lib/fault.ts'
import { begins } from '../flow-machine.ts'
import type { Flow, Kept, Step } from '../model.ts'
import type { StepProblem, StepRenderer } from '../step-renderer.ts'
import { joinStepUrl } from '../step-url.ts'

type Trial = {
  /** The URL of the webhook. */
  readonly url: string
  readonly renderer: StepRenderer
  /** A default body of each kind of event. */
  readonly samples: ReadonlyMap<string, string>
}

/** The trial value of a kept value: valid as a number, as text and in a URL. */
const SAMPLE_VALUE = '1'

/** Renders the templates of a flow with the sample events of each step. Returns the errors. */
export async function flowProblems(flow: Flow, trial: Trial): Promise<FieldError[]> {
  const errors = await Promise.all(flow.steps.map((step, at) => stepProblems(flow, step, `/flow/steps/${at}`, trial)))
  const request = flow.authorization?.kind === 'login' ? flow.authorization.request : undefined
  const ofLogin = request === undefined ? [] : await trial.renderer.problems(request)
  return [...errors.flat(), ...ofLogin.map((one) => errorOf('/flow/authorization/request', one))]
}

async function stepProblems(flow: Flow, step: Step, pointer: string, { url, renderer, samples }: Trial) {
  const parsed = await renderer.problems(step)
  if (parsed.length > 0) return parsed.map((one) => errorOf(pointer, one))
  const kept = sampleKept(flow)
  const events = EVENT_NAMES.filter((event) => begins(step, event))
  const errors = await Promise.all(
    events.map(async (event): Promise<FieldError[]> => {
      const data = { body: samples.get(event) ?? '{}', kept, merged: [{ kept }], parameters: flow.parameters }
      const list = step.each === null ? undefined : await renderer.elements(step, data)
      if (list !== undefined && 'problem' in list) return [errorOf(pointer, list, event)]
      const [item] = list?.elements ?? []
      if (list !== undefined && item === undefined) return []
      const rendered = await renderer.request(step, { ...data, item })
      if ('problem' in rendered) return [errorOf(pointer, rendered, event)]
      if ('skipped' in rendered) return []
      const joined = joinStepUrl(url, rendered.request.url, flow.origins)
      return 'problem' in joined ? [errorOf(pointer, { field: 'url', problem: `url: ${joined.problem}` }, event)] : []
    }),
  )
  // The same error with several events counts once.
  return [...new Map(errors.flat().map((error) => [error.path, error])).values()]
}

const sampleKept = ({ steps }: Flow): Kept =>
  Object.fromEntries(
    steps
      .flatMap(({ keep, when }) => [keep, ...when.map((rule) => rule.keep ?? {})])
      .flatMap(Object.keys)
      .map((name) => [name, SAMPLE_VALUE]),
  )

/** The problem repeats the field that the path names already. */
function errorOf(pointer: string, { field, problem }: StepProblem, event?: string): FieldError {
  const [first = '', ...names] = field.split('/')
  const path = [first, ...names.map((name) => name.replaceAll('~', '~0'))].join('/')
  const message = problem.startsWith(`${field}: `) ? problem.slice(field.length + 2) : problem
  return {
    path: `${pointer}/${path}`,
    message: event === undefined ? message : `${message} (with the sample of ${event})`,
  }
}
