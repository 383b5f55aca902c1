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

/** Where and why a preview ends before its last request. */
type Truncation = { readonly event: string; readonly step: string; readonly reason: string }

/** The requests of events, in their order; `truncated`: `null` if the preview has all of them. */
type Preview = { readonly steps: readonly PreviewedStep[]; readonly truncated: Truncation | null }

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
  /** The events of merged calls: their requests are not shown, but the steps get the values that they keep. */
  readonly earlierEvents?: readonly PreviewedEvent[]
  /** Returns the bodies of any call's events; default: those among `events`. */
  readonly bodiesOf?: (callId: string) => Promise<readonly string[]>
  readonly secrets: Iterable<string>
  readonly renderer: StepRenderer
  /** Whether a value that a step keeps from an unknown answer is assumed to be its own name, instead of missing. */
  readonly areValuesAssumed?: boolean
}

/** The most requests in a preview, without skipped steps; a call causes tens. */
const MAX_PREVIEWED = 200
/** The most characters of a preview. One template can make half a million. */
export const MAX_SHOWN_CHARACTERS = 1_000_000

const TOO_MANY = `a preview has at most ${MAX_PREVIEWED} requests`
const TOO_LONG = `a preview has at most ${MAX_SHOWN_CHARACTERS} characters`

/** Returns the requests that events would cause, without sending any. */
export async function previewFlow(previewing: Previewing): Promise<Preview> {
  const { events, earlierEvents = [] } = previewing
  const keptOf = new Map<string, Kept>()
  const earlier = await previewEvents(previewing, earlierEvents, keptOf)
  const { steps, truncated } = await previewEvents(previewing, events, keptOf)
  return { steps, truncated: earlier.truncated ?? truncated }
}

/** Previews events, with the kept values of calls, to which it adds. */
async function previewEvents(
  previewing: Previewing,
  events: readonly PreviewedEvent[],
  keptOf: Map<string, Kept>,
): Promise<Preview> {
  const { flow, answers, webhookUrl, secrets, renderer, areValuesAssumed = false } = previewing
  const masked = secretMask(secrets)
  const shown: PreviewedStep[] = []
  let requests = 0
  let characters = 0
  let truncated: Truncation | null = null

  const { bodiesOf = async (callId: string) => events.filter((one) => one.callId === callId).map(({ body }) => body) } =
    previewing

  async function preview({ name: event, callId, body: stored }: PreviewedEvent): Promise<void> {
    let progress: Progress = {}
    const { body, callId: outsideId } = flow.seesOutsideCalls
      ? await outsideEvent({ body: stored, callId }, bodiesOf)
      : { body: stored, callId }
    const merged = mergedFrom(body).map((id) => ({ kept: keptOf.get(id) ?? {} }))
    const show = (step: Step, parts: Partial<PreviewedStep>) => {
      const one = { ...NOTHING, event, step: step.name, method: step.method, ...parts }
      characters += [one.url, one.body, one.skipped, one.error].reduce((sum, text) => sum + (text?.length ?? 0), 0)
      shown.push(one)
    }
    for (;;) {
      const kept = { ...keptOf.get(outsideId), ...keptOf.get(callId) }
      const move = nextMove(flow.steps, event, progress, kept)
      if (move.kind === 'end') return
      const { step } = move
      if (characters > MAX_SHOWN_CHARACTERS) {
        truncated = { event, step: step.name, reason: TOO_LONG }
        return
      }
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
      if (requests === MAX_PREVIEWED) {
        truncated = { event, step: step.name, reason: TOO_MANY }
        return
      }
      requests += 1
      const { request } = rendered
      const joined = joinStepUrl(webhookUrl, request.url, flow.origins)
      if ('problem' in joined) {
        show(step, { error: masked(`url: ${joined.problem}`) })
        return
      }
      const answer = answers.get(step.name) ?? null
      const headers = [...Object.keys(request.headers), ...(flow.authorization === null ? [] : ['authorization'])]
      const text = step.upload === null ? request.body : '(the recording)'
      show(step, { url: masked(joined.url), headers, body: text === null ? null : masked(text), answer })
      const { kept: found } = judge(step, { status: answer?.status ?? 200, json: answer?.body }, false)
      const assumed = areValuesAssumed && answer === null ? Object.keys(step.keep).map((name) => [name, name]) : []
      keptOf.set(callId, { ...kept, ...Object.fromEntries(assumed), ...found })
      progress = progressAfter(progress, step, { element, count, as: 'done' })
    }
  }

  for (const event of events) {
    await preview(event)
    if (truncated !== null) break
  }
  return { steps: shown, truncated }
}

const NOTHING = { url: null, headers: [], body: null, skipped: null, error: null, answer: null }

/** Returns the ids of the calls that were merged into a body's call; this program wrote the body. */
export function mergedFrom(body: string): readonly string[] {
  const { data }: { data?: { call?: { merged_from?: readonly string[] } } } = JSON.parse(body)
  return data?.call?.merged_from ?? []
}
