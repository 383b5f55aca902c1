import type { CallEvent } from '../../../src/events/bodies.ts'
import {
  againOf,
  judge,
  nextMove,
  type Progress,
  progressAfter,
  progressAgain,
  progressBegun,
  progressJudged,
  stepInDoubt,
} from '../../../src/flows/flow-machine.ts'
import { type Kept, type Step, stepOf } from '../../../src/flows/model.ts'
import { outsideEvent } from '../../../src/flows/outside-call.ts'
import type { Preset } from '../../../src/flows/preset.ts'
import { createStepRenderer, type StepData } from '../../../src/flows/step-renderer.ts'
import { joinStepUrl } from '../../../src/flows/step-url.ts'
import { TEMPLATES } from '../templates.ts'

const renderer = createStepRenderer(TEMPLATES, { accountId: 1, purpose: 'sending' })

type Run = {
  readonly preset: Preset
  readonly parameters: Readonly<Record<string, unknown>>
  readonly webhookUrl: string
  readonly events: readonly CallEvent[]
  /** The header of the preset's authorization. */
  readonly authorization?: string | undefined
  /** The attempts, counted from 0, after which this process is ended before it has stored the answer. */
  readonly killedAfter?: ReadonlySet<number>
}

/** How a run of a preset ended. */
type RunEnd = {
  readonly attempts: number
  /** Failures of steps, final or repeated, as the log would have them. */
  readonly failures: readonly string[]
  readonly waitedForRetry: number
}

/** Nobody sends a delivery again by hand here. */
const GENERATION = 1
/** An attempt is repeated this many times: no fault of a test lasts longer. */
const MAX_RETRIES = 5

/** Makes the steps of a preset for events, in their order, as deliveries are made: the pure machine with a plain fetch. */
export async function runPreset({
  preset,
  parameters,
  webhookUrl,
  events,
  authorization,
  killedAfter = new Set(),
}: Run): Promise<RunEnd> {
  const steps = preset.steps.map(({ source: _source, answer: _answer, ...step }) => stepOf(step))
  const keptOf = new Map<string, Kept>()
  const failures: string[] = []
  let attempts = 0
  let waitedForRetry = 0
  const bodiesOf = async (callId: string) =>
    events.filter((one) => one.callId === callId).map(({ body }) => JSON.stringify(body))

  for (const { body } of events) {
    const { data } = body
    const { id, merged_from } = data.call
    const outside = await outsideEvent({ body: JSON.stringify(body), callId: id }, bodiesOf)
    const merged = merged_from.map((other) => ({ kept: keptOf.get(other) ?? {} }))
    let progress: Progress = {}
    let retries = 0
    let hasRenewed = false
    delivery: for (;;) {
      const kept = { ...keptOf.get(outside.callId), ...keptOf.get(id) }
      const move = nextMove(steps, data.name, progress, kept)
      if (move.kind === 'end') break
      if (move.kind === 'skip') {
        progress = { ...progress, [move.step.name]: 'skipped' }
        continue
      }
      const { step, element } = move
      const stepData = { body: outside.body, kept, merged, parameters }
      const made = await attempt(step, element, stepData, { webhookUrl, authorization, origins: preset.origins })
      if (made.kind === 'skipped') {
        progress = progressAfter(progress, step, { element, count: made.count, as: 'skipped' })
        continue
      }
      if (made.kind === 'problem') {
        failures.push(`${data.name} ${step.name}: ${made.problem}`)
        break
      }
      const isKilled = killedAfter.has(attempts)
      attempts += 1
      const beginAgain = (): void => {
        if (againOf(progress, step) === null) return
        const again = progressAgain(steps, data.name, progress, step)
        progress = again.progress
        const rest = Object.entries(kept).filter(([name]) => !again.forgotten.includes(name))
        keptOf.set(id, Object.fromEntries(rest))
      }
      // The answer came, and was never stored: the step is made again, or its flow looks first.
      if (isKilled) {
        beginAgain()
        continue
      }
      const judged = judge(step, made.answer, !hasRenewed)
      const { verdict, kept: found } = judged
      switch (verdict) {
        case 'done':
          keptOf.set(id, { ...kept, ...found })
          progress = progressAfter(progress, step, { element, count: made.count, as: 'done' })
          break
        case 'renew':
          hasRenewed = true
          break
        case 'retry':
          waitedForRetry += 1
          retries += 1
          if (step.again !== null) progress = progressBegun(progress, step, { element, generation: GENERATION })
          progress = progressJudged(progress, step, {
            element,
            generation: GENERATION,
            status: made.answer.status,
            judged,
          })
          if (stepInDoubt(steps, data.name, progress, GENERATION) !== undefined) beginAgain()
          if (retries <= MAX_RETRIES) break
          failures.push(`${data.name} ${step.name}: ${made.answer.status} ${JSON.stringify(made.answer.json)}`)
          break delivery
        case 'fail':
          failures.push(`${data.name} ${step.name}: ${made.answer.status} ${JSON.stringify(made.answer.json)}`)
          break delivery
      }
    }
  }
  return { attempts, failures, waitedForRetry }
}

type Made =
  | { readonly kind: 'skipped'; readonly count: number }
  | { readonly kind: 'problem'; readonly problem: string }
  | { readonly kind: 'answered'; readonly answer: { status: number; json: unknown }; readonly count: number }

type Place = { webhookUrl: string; authorization: string | undefined; origins: readonly string[] }

async function attempt(
  step: Step,
  element: number,
  data: StepData,
  { webhookUrl, authorization, origins }: Place,
): Promise<Made> {
  let elements: readonly unknown[] = [undefined]
  if (step.each !== null) {
    const rendered = await renderer.elements(step, data)
    if ('problem' in rendered) return { kind: 'problem', problem: rendered.problem }
    elements = rendered.elements
    if (elements.length === 0) return { kind: 'skipped', count: 0 }
  }
  const rendered = await renderer.request(step, { ...data, item: elements[element] })
  if ('skipped' in rendered) return { kind: 'skipped', count: elements.length }
  if ('problem' in rendered) return { kind: 'problem', problem: rendered.problem }
  const { url, body, fields } = rendered.request
  const headers = { ...rendered.request.headers, ...(authorization === undefined ? {} : { authorization }) }
  const joined = joinStepUrl(webhookUrl, url, origins)
  if ('problem' in joined) return { kind: 'problem', problem: joined.problem }
  const response = await fetch(joined.url, { method: step.method, ...contentOf(step, { headers, body, fields }) })
  const text = await response.text()
  return { kind: 'answered', answer: { status: response.status, json: jsonOf(text) }, count: elements.length }
}

const RECORDING = new Blob(['RIFF of a recording'], { type: 'audio/wav' })

function contentOf(
  { upload, content_type }: Step,
  { headers, body, fields }: { headers: Record<string, string>; body: string | null; fields: Record<string, string> },
): RequestInit {
  if (upload === 'recording') return { headers: { ...headers, 'content-type': 'audio/wav' }, body: RECORDING }
  if (upload !== null) {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set(upload.field, RECORDING, 'recording.wav')
    return { headers, body: form }
  }
  return body === null ? { headers } : { headers: { ...headers, 'content-type': content_type }, body }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
