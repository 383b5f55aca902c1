import { OWNS_EVERYTHING } from '../../cluster/cluster.ts'
import {
  type Authorizer,
  createFlowTurns,
  createStepRenderer,
  type FlowWebhook,
  MAX_SHOWN_CHARACTERS,
  previewFlow,
  type SendStep,
  type StepRequest,
  secretMask,
  type TurnRecord,
} from '../../flows/flows.ts'
import { newUuid } from '../../lib/id.ts'
import { type NowUs, nowUs as wallUs } from '../../lib/time.ts'
import type { FlowStore } from '../../store/operations/flows.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import type { LoadedDelivery } from '../queue/delivery.ts'
import type { TestedFlow, TestedStep } from './model.ts'

export type FlowTestOptions = {
  readonly templates: TemplateRenderer
  readonly send: SendStep
  readonly authorizer: Authorizer
  /** The body of the sample event. */
  readonly sample: { readonly event: 'call_ended'; readonly body: string }
  readonly nowUs?: NowUs
}

/** The tester waits for the answer, so steps that are left after this time are not sent. */
const MAX_MS = 60_000
const MAX_TURNS = 200

/** Plays the sample of an event to a flow; nothing is stored. Without `send` its requests are only rendered. */
export async function testFlow(
  options: FlowTestOptions,
  webhook: FlowWebhook,
  { send }: { send: boolean },
): Promise<TestedFlow> {
  const { flow } = webhook
  if ('problem' in flow) return { steps: [{ ...NO_REQUEST, step: '', method: 'POST', error: flow.problem }] }
  return send ? await sendSteps(options, webhook) : await renderSteps(options, webhook)
}

const NO_REQUEST = { url: null, headers: [], body: null, status: null, error: null }

async function renderSteps({ templates, sample }: FlowTestOptions, webhook: FlowWebhook): Promise<TestedFlow> {
  const { flow, accountId, secrets, url } = webhook
  if ('problem' in flow) return { steps: [] }
  const { steps, truncated } = await previewFlow({
    flow,
    answers: new Map(),
    webhookUrl: url,
    events: [{ name: sample.event, callId: 'sample', body: sample.body }],
    secrets,
    renderer: createStepRenderer(templates, { accountId, purpose: 'trying' }),
    areValuesAssumed: true,
  })
  const own = Object.keys(webhook.headers).map((name) => name.toLowerCase())
  const shown = steps.map(({ step, method, url, headers, body, skipped, error }) => ({
    step,
    method,
    url,
    headers: url === null ? [] : [...new Set([...own, ...headers.map((name) => name.toLowerCase())])],
    body,
    status: null,
    error: error ?? skipped,
  }))
  if (truncated === null) return { steps: shown }
  const { step, reason } = truncated
  return { steps: [...shown, { ...NO_REQUEST, step, method: 'POST', error: `not shown: ${reason}` }] }
}

async function sendSteps(options: FlowTestOptions, webhook: FlowWebhook): Promise<TestedFlow> {
  const { sample, nowUs = wallUs } = options
  const sent: StepRequest[] = []
  const memory = newMemory()
  const makeTurn = createFlowTurns({
    flows: memory.flows,
    ownership: OWNS_EVERYTHING,
    events: { eventListOfCall: async () => [] },
    async send(request) {
      sent.push(request)
      return await options.send(request)
    },
    authorizer: options.authorizer,
    openRecording: () => Promise.reject(new Error('call_ended has no recording')),
    nowUs,
  })
  const delivery = deliveryOf(webhook, sample, nowUs())
  const steps: TestedStep[] = []
  const untilMs = performance.now() + MAX_MS
  let characters = 0
  const isOver = () => characters > MAX_SHOWN_CHARACTERS || performance.now() > untilMs
  for (let turns = 0; turns < MAX_TURNS && !isOver(); turns += 1) {
    sent.length = 0
    const { outcome, turn } = await makeTurn(webhook, delivery, {})
    if (turn !== undefined) {
      steps.push(...stepsOf(turn, sent, webhook, outcome.kind === 'refused'))
      memory.note(turn)
    }
    for (const { url, body } of sent) characters += url.length + (typeof body === 'string' ? body.length : 0)
    if (outcome.kind === 'advanced') continue
    const { reason } = { reason: undefined, ...outcome }
    // Failures before a request are in no attempt.
    if (outcome.kind === 'deferred') steps.push({ ...NO_REQUEST, step: '', method: 'POST', error: reason ?? null })
    return { steps }
  }
  steps.push({
    ...NO_REQUEST,
    step: '',
    method: 'POST',
    error: 'the steps that follow were not sent: a test ends here',
  })
  return { steps }
}

/** Keeps the progress of a test in memory. */
function newMemory() {
  let progress: TurnRecord['progress'] = {}
  let kept: TurnRecord['kept'] = {}
  const flows: Pick<FlowStore, 'flowGet' | 'flowBegin'> = {
    flowBegin: async () => {},
    flowGet: async ({ callIds: [callId = ''] }) => ({ progress, kept: new Map([[callId, kept]]) }),
  }
  return {
    flows,
    note(turn: TurnRecord): void {
      progress = turn.progress
      const rest = Object.entries(kept).filter(([name]) => !turn.forgotten.includes(name))
      kept = { ...Object.fromEntries(rest), ...turn.kept }
    },
  }
}

/** A delivery that is stored nowhere. */
function deliveryOf(
  { id: webhookId, accountId }: FlowWebhook,
  { event, body }: FlowTestOptions['sample'],
  atUs: number,
): LoadedDelivery {
  const uuid = newUuid(atUs)
  return {
    id: 0,
    accountId,
    webhookId,
    callId: uuid,
    event,
    uuid,
    body,
    atUs,
    generation: 1,
    sinceUs: atUs,
    tries: 0,
    attemptsMade: 0,
    dueUs: undefined,
    phase: 'in flight',
    state: 'pending',
    plan: 'schedule',
    hadTrial: false,
  }
}

/** Returns the attempts of a turn, each with the request that it made. */
function stepsOf(
  { attempts }: TurnRecord,
  sent: readonly StepRequest[],
  { secrets }: FlowWebhook,
  isRefused: boolean,
): TestedStep[] {
  const mask = secretMask(secrets)
  const requests = [...sent]
  return attempts.map(({ status, error, step }, at) => {
    const request = step?.url == null ? undefined : requests.shift()
    const { method = 'POST', body = null, url, headers = {} } = request ?? {}
    const names = Object.keys(headers).filter((name) => !/^(webhook-.*|traceparent)$/.test(name))
    return {
      step: step?.name ?? '',
      method,
      url: url === undefined ? null : mask(url),
      headers: names,
      body: typeof body === 'string' ? mask(body) : null,
      status,
      error: error === null ? (isRefused && at === attempts.length - 1 ? `it answered ${status}` : null) : mask(error),
    }
  })
}
