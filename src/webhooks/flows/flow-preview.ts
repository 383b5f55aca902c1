import {
  judge,
  nextMove,
  type Progress,
  progressAfter,
  SKIPPED_BY_IF,
  SKIPPED_WITHOUT_ELEMENTS,
} from './flow-machine.ts'
import { secretMask } from './flow-secrets.ts'
import type { Flow, Kept, Step } from './model.ts'
import { outsideEvent } from './outside-call.ts'
import type { StepData, StepRenderer } from './step-renderer.ts'
import { joinStepUrl } from './step-url.ts'

/** An event of a call: its kind, and its default body as JSON text. */
export type PreviewedEvent = { readonly name: string; readonly callId: string; readonly body: string }

/** A request that a flow would send, or the reason why it is skipped. Secrets are `***`; headers have names only. */
type PreviewedStep = {
  readonly event: string
  readonly step: string
  readonly method: string
  readonly url: string | null
  readonly headers: readonly string[]
  readonly body: string | null
  /** Why the request is skipped; `null` if it is sent. */
  readonly skipped: string | null
  readonly error: string | null
  /** The answer in the vendor's documentation; `null` without one, so that no value is kept from it. */
  readonly answer: { readonly status: number; readonly body: unknown } | null
}

type Previewing = {
  readonly flow: Flow
  /** The documented answers, by step name. */
  readonly answers: ReadonlyMap<string, { readonly status: number; readonly body: unknown }>
  readonly webhookUrl: string
  readonly events: readonly PreviewedEvent[]
  readonly secrets: Iterable<string>
  readonly renderer: StepRenderer
  /** Whether a value that a step keeps from an unknown answer is assumed to be its own name, instead of missing. */
  readonly areValuesAssumed?: boolean
}

/** The most requests in a preview; a call causes tens. */
const MAX_PREVIEWED = 200
/** The most characters of all requests together; a longer preview is cut off. One template can make half a million. */
export const MAX_SHOWN_CHARACTERS = 1_000_000

/** Returns the requests that events would cause, without sending any. */
export async function previewFlow(previewing: Previewing) {
  const { flow, answers, webhookUrl, events, secrets, renderer, areValuesAssumed = false } = previewing
  const masked = secretMask(secrets)
  const keptOf = new Map<string, Kept>()
  const shown: PreviewedStep[] = []
  let characters = 0

  const bodiesOf = async (callId: string) => events.filter((one) => one.callId === callId).map(({ body }) => body)

  async function preview({ name: event, callId, body: stored }: PreviewedEvent): Promise<void> {
    let progress: Progress = {}
    const { body, callId: outsideId } = flow.seesOutsideCalls
      ? await outsideEvent({ body: stored, callId }, bodiesOf)
      : { body: stored, callId }
    const merged = mergedFrom(body).map((id) => ({ kept: keptOf.get(id) ?? {} }))
    const show = (step: Step, parts: Partial<PreviewedStep>) =>
      shown.push({ ...NOTHING, event, step: step.name, method: step.method, ...parts })
    for (;;) {
      const kept = { ...keptOf.get(outsideId), ...keptOf.get(callId) }
      const move = nextMove(flow.steps, event, progress, kept)
      if (move.kind === 'end' || shown.length >= MAX_PREVIEWED || characters > MAX_SHOWN_CHARACTERS) return
      const { step } = move
      if (move.kind === 'skip') {
        show(step, { skipped: move.reason })
        progress = { ...progress, [step.name]: 'skipped' }
        continue
      }
      const { element } = move
      const data: StepData = { body, kept, merged, parameters: flow.parameters }
      const list = step.each === null ? { elements: [undefined] } : await renderer.elements(step, data)
      if ('problem' in list) {
        show(step, { error: masked(list.problem) })
        return
      }
      const count = list.elements.length
      if (count === 0) {
        show(step, { skipped: SKIPPED_WITHOUT_ELEMENTS })
        progress = progressAfter(progress, step, { element, count, as: 'skipped' })
        continue
      }
      const rendered = await renderer.request(step, { ...data, item: list.elements[element] })
      if ('problem' in rendered) {
        show(step, { error: masked(rendered.problem) })
        return
      }
      if ('skipped' in rendered) {
        show(step, { skipped: SKIPPED_BY_IF })
        progress = progressAfter(progress, step, { element, count, as: 'skipped' })
        continue
      }
      const { request } = rendered
      const joined = joinStepUrl(webhookUrl, request.url, flow.origins)
      if ('problem' in joined) {
        show(step, { error: masked(`url: ${joined.problem}`) })
        return
      }
      const answer = answers.get(step.name) ?? null
      const headers = [...Object.keys(request.headers), ...(flow.authorization === null ? [] : ['authorization'])]
      const text = step.upload === null ? request.body : '(the recording)'
      characters += joined.url.length + (text?.length ?? 0)
      show(step, { url: masked(joined.url), headers, body: text === null ? null : masked(text), answer })
      const { kept: found } = judge(step, { status: answer?.status ?? 200, json: answer?.body }, false)
      const assumed = areValuesAssumed && answer === null ? Object.keys(step.keep).map((name) => [name, name]) : []
      keptOf.set(callId, { ...kept, ...Object.fromEntries(assumed), ...found })
      progress = progressAfter(progress, step, { element, count, as: 'done' })
    }
  }

  for (const event of events) await preview(event)
  return shown
}

const NOTHING = { url: null, headers: [], body: null, skipped: null, error: null, answer: null }

/** Returns the ids of the calls that were merged into a body's call; this program wrote the body. */
function mergedFrom(body: string): readonly string[] {
  const { data }: { data: { call?: { merged_from?: readonly string[] } } } = JSON.parse(body)
  return data.call?.merged_from ?? []
}
