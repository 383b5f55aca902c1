import { accountLease, type Ownership } from '../cluster/cluster.ts'
import { Fault } from '../lib/fault.ts'
import { valueAt } from '../lib/json-pointer.ts'
import { type NowUs, SECOND } from '../lib/time.ts'
import type { AbortGroup } from '../outbound/abort-group.ts'
import type { ClientTls } from '../outbound/client-tls.ts'
import type { Attempted, Outcome } from '../outbound/outcome.ts'
import type { Signer, StreamSigner } from '../outbound/signature.ts'
import { traceparentOf } from '../outbound/trace-context.ts'
import { type OpenRecording, type RecordingFile, uploadOf } from '../outbound/upload.ts'
import { LeaseLost } from '../store/operations/cluster.ts'
import type { FlowStore } from '../store/operations/flows.ts'
import { type AttemptStep, type LogStore, NO_STEP } from '../store/operations/log.ts'
import type { PendingDelivery } from '../store/operations/queue.ts'
import type { Authorizer } from './authorizer.ts'
import {
  againOf,
  begins,
  type Judgement,
  judge,
  LOOKS_FIRST,
  nextMove,
  progressAgain,
  progressAnswered,
  progressBegun,
  progressJudged,
  SKIPPED_BY_IF,
  SKIPPED_WITHOUT_ELEMENTS,
  stepInDoubt,
} from './flow-machine.ts'
import { secretMask, secretsOfHeaders } from './flow-secrets.ts'
import type { BrokenFlow, Flow, Step } from './model.ts'
import { createNumberTurns, type NumberTurns } from './number-turns.ts'
import { outsideEvent, outsideNumberIn } from './outside-call.ts'
import type { RenderedStep, StepData, StepProblem, StepRenderer } from './step-renderer.ts'
import type { SendStep, StepAnswer } from './step-request.ts'
import { isOwnHost, joinStepUrl, urlForLog } from './step-url.ts'
import { newTurn, type Turn, type TurnRecord } from './turn-record.ts'

/** A webhook with a flow, prepared for its turns. */
export type FlowWebhook = {
  readonly id: number
  readonly accountId: number
  readonly url: string
  readonly flow: Flow | BrokenFlow
  readonly renderer: StepRenderer
  /** The further headers of the webhook's options. */
  readonly headers: Readonly<Record<string, string>>
  /** The secrets of the flow, which no log shows. */
  readonly secrets: readonly string[]
  /** How it takes part in TLS handshakes with its own host. */
  readonly tls?: ClientTls | undefined
  readonly sign: Signer
  readonly signStream: StreamSigner
}

type FlowTurnsOptions = {
  readonly flows: Pick<FlowStore, 'flowGet' | 'flowBegin'>
  readonly ownership: Pick<Ownership, 'isShared' | 'fenceOf'>
  readonly events: Pick<LogStore, 'eventListOfCall'>
  readonly send: SendStep
  readonly authorizer: Authorizer
  readonly openRecording: OpenRecording
  readonly nowUs: NowUs
  readonly newBoundary?: () => string
  readonly pause?: (ms: number) => Promise<void>
}

type TurnOptions = {
  readonly group?: AbortGroup
  /** It ends before its first request, as `deferred`: only a delivery that needs none is `skipped`. */
  readonly isTrial?: boolean
}

/** The delivery whose flow takes a turn. */
type TurnDelivery = Pick<PendingDelivery, 'id' | 'uuid' | 'accountId' | 'callId' | 'event' | 'body' | 'generation'>

/** The attempt of a turn, with what the turn did besides; without it, the flow made no step. */
export type TurnAttempted = Attempted & { readonly turn?: TurnRecord }

/** Makes a turn of a flow. Rejects after an internal error alone. */
export type MakeTurn = (webhook: FlowWebhook, delivery: TurnDelivery, options: TurnOptions) => Promise<TurnAttempted>

/** How long the deliveries of a webhook without its preset wait before the next look. */
const BROKEN_MS = 1_000

/**
 * Creates the function that makes the turns of flows. A turn is one request. It skips the steps before that one, where
 * they say so, and its outcome is `advanced` while other steps follow. All that it did is committed before the next
 * turn: so a process that is killed makes the one step again that was in flight, or looks first if it has `again`.
 */
export function createFlowTurns(options: FlowTurnsOptions): MakeTurn {
  const { flows, events } = options
  const { pause = Bun.sleep } = options
  const parts = { ...options, numberTurns: createNumberTurns({ nowUs: options.nowUs, pause }) }
  const bodiesOf = (accountId: number) => async (callId: string) =>
    (await events.eventListOfCall(accountId, callId)).map(({ body }) => body)
  return async (webhook, delivery, { group, isTrial = false }) => {
    const { flow } = webhook
    // Its deliveries pend: the preset may come back.
    if ('problem' in flow)
      return {
        ...withoutRequest({ kind: 'deferred', reason: flow.problem, afterMs: BROKEN_MS }),
        turn: newTurn(NOTHING).record(),
      }
    const { id: deliveryId, event, callId, accountId } = delivery
    if (!flow.steps.some((step) => begins(step, event))) return withoutRequest({ kind: 'skipped', reason: NO_STEP })
    const facts = factsOf(delivery.body)
    const callIds = [callId, ...facts.mergedFrom]
    try {
      const outside = flow.seesOutsideCalls ? await outsideEvent(delivery, bodiesOf(accountId)) : delivery
      const { progress, kept } = await flows.flowGet({ deliveryId, webhookId: webhook.id, callIds })
      const merged = facts.mergedFrom.map((id) => ({ kept: kept.get(id) ?? {} }))
      const ownKept = { ...kept.get(outside.callId), ...kept.get(callId) }
      const turn = newTurn({ body: outside.body, kept: ownKept, merged, progress, facts })
      return await play(parts, { ...webhook, flow }, { delivery, group, isTrial, turn })
    } catch (error) {
      if (error instanceof Fault && error.code === 'unavailable')
        return withoutRequest({ kind: 'unsent', reason: 'the store cannot be used' })
      // The new owner of the account sends it.
      if (error instanceof LeaseLost) return withoutRequest({ kind: 'aborted' })
      throw error
    }
  }
}

const withoutRequest = (outcome: Outcome): Attempted => ({ outcome, durationMs: 0, address: null, response: null })

/** A turn without its flow. */
const NOTHING = { body: '{}', kept: {}, merged: [], progress: {}, facts: { mergedFrom: [], recording: undefined } }

/** The parts of a body that a turn needs itself. */
type BodyFacts = {
  readonly mergedFrom: readonly string[]
  readonly recording: { readonly id: string; readonly path: string } | undefined
}

/** Reads a body that this program wrote; of an erased one nothing is known. */
function factsOf(body: string): BodyFacts {
  const { data } = JSON.parse(body)
  return { mergedFrom: data?.call?.merged_from ?? [], recording: data?.recording }
}

type Players = {
  readonly delivery: TurnDelivery
  readonly group: AbortGroup | undefined
  readonly isTrial: boolean
  readonly turn: FlowTurnState
}
type FlowTurnState = Turn & { readonly facts: BodyFacts }
type Playing = FlowWebhook & { readonly flow: Flow }
type PlayOptions = FlowTurnsOptions & { readonly numberTurns: NumberTurns }

async function play(options: PlayOptions, webhook: Playing, players: Players): Promise<TurnAttempted> {
  const { nowUs } = options
  const { flow, renderer } = webhook
  const { delivery, isTrial, turn } = players
  const skip = (step: Step, reason: string) =>
    turn.log({ ...NOTHING_SENT, atUs: nowUs(), error: reason, step: withoutUrl(step) })
  const unrendered = (step: Step, { problem, retryAfterMs }: Pick<StepProblem, 'problem' | 'retryAfterMs'>) => {
    // Other templates are rendered now: that is no failure of this delivery.
    if (retryAfterMs !== undefined) return ended({ kind: 'deferred', reason: problem, afterMs: retryAfterMs }, turn)
    skip(step, problem)
    return ended({ kind: 'unrendered', reason: problem }, turn)
  }
  let lastSkip = NO_STEP
  const inDoubt = stepInDoubt(flow.steps, delivery.event, turn.progress, delivery.generation)
  if (inDoubt !== undefined) beginAgain(options, webhook, players, inDoubt)
  for (;;) {
    const move = nextMove(flow.steps, delivery.event, turn.progress, turn.kept)
    if (move.kind === 'end') {
      // The flow was changed since its last step: the log still says why nothing follows.
      if (turn.isEmpty()) turn.log({ ...NOTHING_SENT, atUs: nowUs(), error: lastSkip })
      return ended({ kind: 'skipped', reason: lastSkip }, turn)
    }
    const { step } = move
    if (move.kind === 'skip') {
      lastSkip = move.reason
      skip(step, lastSkip)
      turn.advance(step, { element: 0, count: 1, as: 'skipped' })
      continue
    }
    const { element } = move
    const { body, kept, merged } = turn
    const data: StepData = { body, kept, merged, parameters: flow.parameters }
    const list = step.each === null ? undefined : await renderer.elements(step, data)
    if (list !== undefined && 'problem' in list) return unrendered(step, list)
    const count = list === undefined ? 1 : list.elements.length
    if (element >= count) {
      if (count === 0) {
        lastSkip = SKIPPED_WITHOUT_ELEMENTS
        skip(step, lastSkip)
      }
      turn.advance(step, { element, count, as: 'skipped' })
      continue
    }
    const ofElement = list === undefined ? data : { ...data, item: list.elements[element] }
    const rendered = isTrial ? await renderer.condition(step, ofElement) : await renderer.request(step, ofElement)
    if ('problem' in rendered) return unrendered(step, rendered)
    if ('skipped' in rendered) {
      lastSkip = count === 1 ? SKIPPED_BY_IF : `${SKIPPED_BY_IF} (element ${element + 1} of ${count})`
      skip(step, lastSkip)
      turn.advance(step, { element, count, as: 'skipped' })
      continue
    }
    if ('isMet' in rendered)
      return ended({ kind: 'deferred', reason: `${step.name} sends a request`, afterMs: 0 }, turn)
    const joined = joinStepUrl(webhook.url, rendered.request.url, flow.origins)
    if ('problem' in joined) return unrendered(step, { problem: `url: ${joined.problem}` })
    const making: Making = { ...players, step, element, count, url: joined.url, made: rendered.request }
    const attempted = await requestInTurn(options, webhook, making)
    if (attempted === 'look again') {
      beginAgain(options, webhook, players, step)
      continue
    }
    if (attempted !== 'created') return attempted
    lastSkip = SKIPPED_AS_CREATED
    turn.advance(step, { element, count, as: 'skipped' })
  }
}

/** Begins again at the step that looks for what a request of `step` may have made. */
function beginAgain({ nowUs }: PlayOptions, { flow }: Playing, { delivery, turn }: Players, step: Step): void {
  const from = againOf(turn.progress, step)
  const { progress, forgotten } = progressAgain(flow.steps, delivery.event, turn.progress, step)
  turn.setProgress(progress)
  turn.forget(forgotten)
  turn.log({ ...NOTHING_SENT, atUs: nowUs(), error: `${LOOKS_FIRST} ${from}`, step: withoutUrl(step) })
}

type Making = Players & {
  readonly step: Step
  readonly element: number
  readonly count: number
  readonly url: string
  readonly made: RenderedStep
}

const SKIPPED_AS_CREATED = 'skipped: another call of this number has just created it'

/**
 * Sends the request of a step. If the calls of one number have to send it in turn, waits for the other calls. Without a
 * request: `created` if another call has already created the contact, whose id is kept; `look again` if another call
 * may have created it since this call has looked.
 */
async function requestInTurn(
  options: PlayOptions,
  webhook: Playing,
  making: Making,
): Promise<TurnAttempted | 'created' | 'look again'> {
  const { numberTurns, nowUs } = options
  const { turn, step, delivery } = making
  const { id, flow } = webhook
  const shared = flow.inTurn.get(step.name)
  const number = shared === undefined ? null : outsideNumberIn(turn.body)
  if (shared === undefined || number === null) return await request(options, webhook, making)
  // With other parameters, the webhook may send to another account of the CRM.
  const key = `${id} ${Bun.hash(JSON.stringify(flow.parameters))} ${number}`
  return await numberTurns.run({ key, deliveryId: delivery.id }, async ({ known, isInDoubt }) => {
    if (shared !== null && known !== undefined) {
      const logged = { ...withoutUrl(step), kept: [shared] }
      turn.log({ ...NOTHING_SENT, atUs: nowUs(), error: SKIPPED_AS_CREATED, step: logged })
      turn.keep({ [shared]: known })
      return 'created'
    }
    if (isInDoubt && step.again !== null) return 'look again'
    const attempted = await request(options, webhook, making)
    const created = shared === null ? undefined : turn.kept[shared]
    if (created !== undefined) numberTurns.note(key, created)
    else if (shared === null && step.again !== null && attempted.outcome.kind === 'advanced')
      numberTurns.noteCreated({ key, deliveryId: delivery.id })
    else if (step.again !== null && isInDoubtAfter(making)) numberTurns.noteDoubt({ key, deliveryId: delivery.id })
    return attempted
  })
}

const isInDoubtAfter = ({ turn, step }: Making): boolean => {
  const at = turn.progress[step.name]
  return typeof at === 'object' && at.begun !== undefined && at.isAnswered !== true
}

/** Notes that a request of a step with `again` is about to be sent, before the first one in the store. */
async function begin(
  { flows, ownership }: FlowTurnsOptions,
  { turn, step, element, delivery }: Making,
  isFirst: boolean,
): Promise<void> {
  if (step.again === null) return
  const { id: deliveryId, accountId, generation } = delivery
  turn.setProgress(progressBegun(turn.progress, step, { element, generation }))
  if (!isFirst) return
  const fence = ownership.isShared ? ownership.fenceOf(accountLease(accountId)) : undefined
  await flows.flowBegin({ deliveryId, progress: turn.progress }, fence)
}

/** Sends the request of a step, a second time after a renewed authorization. */
async function request(options: FlowTurnsOptions, webhook: Playing, making: Making): Promise<TurnAttempted> {
  const { authorizer } = options
  const { flow } = webhook
  const { turn, step, element, count, delivery } = making
  const authorized = flow.authorization === null ? undefined : { ...webhook, authorization: flow.authorization }
  const owner = authorized && { ...authorized, origins: flow.origins, parameters: flow.parameters }
  let token = owner === undefined ? undefined : await authorizer.authorize(owner)
  for (let hasRenewed = false; ; hasRenewed = true) {
    if (token !== undefined && 'reason' in token) return deferred(token, turn)
    await begin(options, making, !hasRenewed)
    const sent = await sendOnce(options, webhook, { ...making, authorization: token?.header })
    if (!('answer' in sent)) {
      if (!sent.mayBeCarriedOut) turn.setProgress(progressAnswered(turn.progress, step))
      return ended(sent.outcome, turn, sent)
    }
    const { answer } = sent
    const judged = judge(step, answer, owner !== undefined && !hasRenewed)
    const { verdict } = judged
    const reason = ruleSentence(judged, answer, secretMask(webhook.secrets))
    const kept = Object.keys(judged.kept)
    sent.log({ status: answer.status, error: reason ?? null, kept })
    turn.keep(judged.kept)
    if (verdict === 'renew' && owner !== undefined && token !== undefined) {
      token = await authorizer.renew(owner, token.header)
      continue
    }
    const at = { element, generation: delivery.generation, status: answer.status, judged }
    turn.setProgress(progressJudged(turn.progress, step, at))
    if (verdict !== 'done') return ended(failureOf(answer, judged, reason), turn, answer)
    turn.advance(step, { element, count, as: 'done' })
    const next = nextMove(flow.steps, delivery.event, turn.progress, turn.kept)
    const { status } = answer
    return ended({ kind: next.kind === 'end' ? 'delivered' : 'advanced', status }, turn, answer)
  }
}

const MAX_QUOTED_CHARACTERS = 200

/** Says that a rule has decided, and by which text of the answer, where it is not plain from the status. */
function ruleSentence(
  { rule, verdict }: Judgement,
  { json }: StepAnswer,
  mask: (text: string) => string,
): string | undefined {
  if (rule === undefined || verdict === 'done') return undefined
  const found = rule.pointer === undefined ? undefined : valueAt(json, rule.pointer)
  const quoted = typeof found === 'string' ? ` for ${JSON.stringify(mask(found).slice(0, MAX_QUOTED_CHARACTERS))}` : ''
  return `a rule of the step says ${JSON.stringify(rule.then)}${quoted}`
}

function failureOf(answer: StepAnswer, { verdict, rule }: Judgement, reason: string | undefined): Outcome {
  const { status, retryAfterMs } = answer
  const later = retryAfterMs === undefined ? {} : { retryAfterMs }
  if (rule === undefined || reason === undefined) return { kind: 'refused', status, ...later }
  return { kind: 'ruled', status, reason, verdict: verdict === 'fail' ? 'fail' : 'retry', ...later }
}

type Sent =
  | {
      readonly answer: StepAnswer
      /** Logs the request, now that its answer was judged. */
      log(judged: { status: number; error: string | null; kept: readonly string[] }): void
    }
  | (Facts & { readonly outcome: Outcome; readonly mayBeCarriedOut: boolean })

async function sendOnce(
  options: FlowTurnsOptions,
  webhook: Playing,
  { delivery, group, turn, step, url, made, authorization }: Making & { readonly authorization: string | undefined },
): Promise<Sent> {
  const { nowUs, send, openRecording, newBoundary = randomBoundary } = options
  const { uuid, callId, accountId } = delivery
  const { recording } = turn.facts
  const own = authorization === undefined ? made.headers : { ...made.headers, authorization }
  const mask = secretMask([...webhook.secrets, ...secretsOfHeaders(own)])
  const shown: AttemptStep = { name: step.name, method: step.method, url: mask(urlForLog(url)), kept: [] }
  const unsendable = (reason: string): Sent => {
    turn.log({ ...NOTHING_SENT, atUs: nowUs(), error: reason, step: shown })
    return {
      outcome: { kind: 'unrendered', reason },
      mayBeCarriedOut: false,
      durationMs: 0,
      address: null,
      logged: null,
    }
  }
  let file: RecordingFile | undefined
  try {
    if (step.upload !== null) {
      const ref = { callId, recordingId: recording?.id ?? '' }
      const opened = await opening(() => openRecording(accountId, ref))
      if ('problem' in opened) return unsendable(`the recording: ${opened.problem}`)
      file = opened.file
    }
    const parts = { step, fields: made.fields, path: recording?.path ?? '', boundary: newBoundary() }
    const upload = file === undefined ? undefined : uploadOf({ ...parts, file })
    // The file is read twice, to sign and to send it, so that no recording is held in memory.
    const atUs = nowUs()
    const timestampS = Math.floor(atUs / SECOND)
    const signature =
      upload === undefined
        ? webhook.sign(uuid, timestampS, made.body ?? '')
        : await webhook.signStream(uuid, timestampS, upload.read()).catch(() => undefined)
    if (signature === undefined) return unsendable('the recording: its file cannot be read to its end')
    const { keep, when } = step
    const answer = await send({
      url,
      method: step.method,
      headers: {
        ...lowerCased(webhook.headers),
        ...lowerCased(made.headers),
        ...(authorization === undefined ? {} : { authorization }),
        'webhook-id': uuid,
        'webhook-timestamp': String(timestampS),
        'webhook-signature': signature,
        traceparent: traceparentOf(callId),
      },
      contentType: step.content_type,
      body: upload ?? made.body,
      isAnswerWanted:
        Object.keys(keep).length > 0 || when.some((one) => one.pointer !== undefined || one.keep !== undefined),
      group,
      tls: isOwnHost(url, webhook.url) ? webhook.tls : undefined,
    })
    const { durationMs, address } = answer
    if ('failure' in answer) {
      const { failure } = answer
      // A request that was not sent is made again: there is nothing to log.
      if (failure.kind === 'unreachable') {
        turn.noteRequest()
        turn.log({ ...NOTHING_SENT, atUs, durationMs, address, error: mask(failure.reason), step: shown })
      }
      return { outcome: failure, mayBeCarriedOut: answer.mayHaveBeenSent, durationMs, address, logged: null }
    }
    turn.noteRequest()
    // The answer may repeat secrets of the request.
    const logged = answer.logged === null ? null : mask(answer.logged)
    const log = ({ status, error, kept }: { status: number; error: string | null; kept: readonly string[] }) =>
      turn.log({ atUs, status, durationMs, error, address, response: logged, step: { ...shown, kept } })
    return { answer: { ...answer, logged }, log }
  } finally {
    await file?.close()
  }
}

async function opening(
  open: () => Promise<RecordingFile>,
): Promise<{ readonly file: RecordingFile } | { readonly problem: string }> {
  try {
    return { file: await open() }
  } catch (error) {
    if (error instanceof Fault) return { problem: error.message }
    throw error
  }
}

const randomBoundary = (): string => `hookswitch-${crypto.randomUUID()}`

const lowerCased = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const NOTHING_SENT = { status: null, durationMs: 0, address: null, response: null }
const withoutUrl = ({ name }: Step): AttemptStep => ({ name, method: null, url: null, kept: [] })

type Facts = { readonly durationMs: number; readonly address: string | null; readonly logged: string | null }

function ended(
  outcome: Outcome,
  turn: Turn,
  { durationMs, address, logged }: Facts = { durationMs: 0, address: null, logged: null },
): TurnAttempted {
  return { outcome, durationMs, address, response: logged, turn: turn.record() }
}

const deferred = (token: { readonly reason: string; readonly retryAfterMs: number }, turn: Turn): TurnAttempted =>
  ended({ kind: 'deferred', reason: `the authorization: ${token.reason}`, afterMs: token.retryAfterMs }, turn)
