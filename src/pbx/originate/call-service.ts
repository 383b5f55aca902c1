import { extensionsOf, type LiveCall } from '../../calls/calls.ts'
import { INVALID } from '../../http/validation.ts'
import { Fault, type FieldError } from '../../lib/fault.ts'
import { newUuid } from '../../lib/id.ts'
import { type NowUs, SECOND } from '../../lib/time.ts'
import type { PresentAt } from '../../states/states.ts'
import type { CallRequestRecord } from '../../store/operations/call-requests.ts'
import type { Store } from '../../store/store.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { type PbxList, sourcesOfAccount } from '../watch/pbx-list.ts'
import type { CallOwner } from './call-owner.ts'
import type { CallRequest, MadeCall } from './model.ts'
import { mayBeCalled, nameToShow, numberToDial } from './number.ts'

export type CallService = {
  /** Throws Fault `forbidden` if no PBX of the account makes calls. */
  requireCalls(accountId: number): void
  /**
   * Has a call made. `doubt`: nobody knows whether the PBX made it. @throws Fault `invalid`, `forbidden` if its PBX
   * makes none, `conflict` with the reason why there is no call, `too_many_requests`.
   */
  call(accountId: number, request: CallRequest): Promise<{ readonly made: MadeCall; readonly doubt?: Fault }>
  /**
   * Hangs up a live call; with an extension only one of its calls. @throws Fault `not_found`, `forbidden`, `conflict`
   * with the reason.
   */
  hangUp(accountId: number, callId: string, extension: string | null): Promise<void>
}

type Dependencies = {
  readonly store: Pick<Store, 'callRequests'>
  readonly pbxs: Pick<PbxList, 'sources' | 'accounts'>
  readonly owner: Pick<CallOwner, 'wake'>
  /** Returns the present phones of an account on a PBX. */
  readonly states: (accountId: number, pbx: string) => Promise<Iterable<PresentAt>>
  /** Returns whether a PBX is connected, to whichever node. */
  readonly isConnected: (pbx: string) => Promise<boolean>
  readonly liveCalls: (accountId: number) => Iterable<LiveCall>
  /** Reads the live calls of PBXs that other nodes watch. */
  readonly refreshCalls: () => Promise<void>
  readonly nowUs: NowUs
}

const CALLS_A_MINUTE = 30
/** The owner of the PBX drops a request after 3 s, and asks the PBX for 5 s at most. */
const ANSWER_WITHIN_MS = 9_000
const CALL_KNOWN_WITHIN_MS = 3_000
const CHECK_MS = 50

const sentence = (reason: string | null): string => `${(reason ?? 'it gives no reason').replace(/\.+$/, '')}.`

const OFF =
  'No PBX of this account makes calls: an administrator can allow it with calls= in the URL of the PBX (see the guide on click to call).'
const IN_DOUBT =
  'The PBX did not answer in time: look whether the phone rings or talks before you try again. Nothing is sent twice.'

/** Creates the service behind `POST /call` and `DELETE /call/{id}`. */
export function createCallService(dependencies: Dependencies): CallService {
  const { store, pbxs, owner, isConnected, liveCalls, refreshCalls, nowUs } = dependencies
  const { callRequests } = store

  const sourcesOf = (accountId: number): readonly PbxSource[] => sourcesOfAccount(pbxs, accountId)

  function requireCalls(accountId: number): void {
    if (!sourcesOf(accountId).some(({ calls }) => calls !== undefined)) throw new Fault('forbidden', OFF)
  }

  /** Returns the PBX with the phone, or the problem of the request. */
  async function pbxOf(accountId: number, { from, pbx }: CallRequest): Promise<PbxSource | FieldError> {
    const given = sourcesOf(accountId).filter(({ name }) => pbx === undefined || name === pbx)
    if (given.length === 0) return { path: '/pbx', message: 'must be the name of one of your PBXs' }
    const having: PbxSource[] = []
    for (const source of given)
      for (const { present: one } of await dependencies.states(accountId, source.name))
        if (one.kind === 'phone' && one.state.extension === from) having.push(source)
    const [only, ...others] = having
    if (only === undefined)
      return { path: '/from', message: 'must be the extension of a phone that the PBX shows: GET /phone lists them' }
    if (others.length === 0) return only
    const names = having.map(({ name }) => name).join(', ')
    return { path: '/pbx', message: `must say which PBX: ${names} have this extension` }
  }

  /** Waits until the owner of the PBX has noted its answer. */
  async function answerTo(id: string): Promise<CallRequestRecord | undefined> {
    const untilMs = performance.now() + ANSWER_WITHIN_MS
    for (;;) {
      const request = await callRequests.callRequestGet(id)
      const isAnswered = request !== undefined && request.state !== 'stored' && request.state !== 'asked'
      if (isAnswered || performance.now() >= untilMs) return request
      await Bun.sleep(CHECK_MS)
    }
  }

  /** Waits for the answer to a request; `undefined`: none came. @throws Fault `conflict` if the PBX refuses. */
  async function requireAsked(id: string): Promise<CallRequestRecord | undefined> {
    const request = await answerTo(id)
    if (request?.state === 'refused')
      throw new Fault('conflict', `The PBX did not do this: ${sentence(request.reason)}`)
    return request?.state === 'made' ? request : undefined
  }

  async function callOf(id: string, untilMs: number): Promise<string | null> {
    for (;;) {
      const callId = (await callRequests.callRequestGet(id))?.callId ?? null
      if (callId !== null || performance.now() >= untilMs) return callId
      await Bun.sleep(CHECK_MS)
    }
  }

  async function addRequest(request: Parameters<typeof callRequests.callRequestAdd>[0]): Promise<void> {
    const added = await callRequests.callRequestAdd(request)
    if (added.kind === 'busy')
      throw new Fault('conflict', `The phone ${request.extension} is in such a call already. Hang that up first.`)
    if (added.kind === 'too_many') {
      const seconds = Math.max(1, Math.ceil(added.waitUs / SECOND))
      throw new Fault(
        'too_many_requests',
        `${CALLS_A_MINUTE} calls a minute are made for an account. Try again in ${seconds} s.`,
        { headers: { 'retry-after': String(seconds) } },
      )
    }
    owner.wake()
  }

  return {
    requireCalls,
    async call(accountId, request) {
      requireCalls(accountId)
      const untilMs = performance.now() + CALL_KNOWN_WITHIN_MS
      const to = numberToDial(request.to)
      const name = nameToShow(request.name ?? '')
      const errors: FieldError[] = []
      if ('problem' in to) errors.push({ path: '/to', message: to.problem })
      if ('problem' in name) errors.push({ path: '/name', message: name.problem })
      const pbx = await pbxOf(accountId, request)
      if ('path' in pbx) errors.push(pbx)
      else if (pbx.calls === undefined && errors.length === 0) throw new Fault('forbidden', OFF)
      else if ('value' in to && !mayBeCalled(to.value, pbx.calls?.to ?? []))
        errors.push({ path: '/to', message: 'must be a number that calls_to in the URL of the PBX allows' })
      if ('path' in pbx || 'problem' in to || 'problem' in name || errors.length > 0)
        throw new Fault('invalid', INVALID, { errors })
      if (!(await isConnected(pbx.name)))
        throw new Fault('conflict', `The PBX ${pbx.name} is not connected, so that nothing was dialled.`)
      const id = newUuid(nowUs())
      await addRequest({
        id,
        accountId,
        pbx: pbx.name,
        extension: request.from,
        number: to.value,
        name: name.value,
        callId: null,
        atUs: nowUs(),
        limit: CALLS_A_MINUTE,
      })
      const asked = await requireAsked(id)
      if (asked === undefined)
        return { made: { request_id: id, call_id: null }, doubt: new Fault('conflict', IN_DOUBT) }
      return { made: { request_id: id, call_id: asked.callId ?? (await callOf(id, untilMs)) } }
    },
    async hangUp(accountId, callId, extension) {
      requireCalls(accountId)
      await refreshCalls()
      const live = [...liveCalls(accountId)].find(({ id }) => id === callId)
      const isOthers =
        live !== undefined && extension !== null && !extensionsOf(live.call, live.stages).includes(extension)
      if (live === undefined || isOthers) throw new Fault('not_found', 'No call with this id is up.')
      const source = sourcesOf(accountId).find(({ name }) => name === live.pbx)
      if (source?.calls === undefined) throw new Fault('forbidden', OFF)
      const id = newUuid(nowUs())
      const facts = { extension: null, number: null, name: null, callId, atUs: nowUs(), limit: CALLS_A_MINUTE }
      await addRequest({ ...facts, id, accountId, pbx: live.pbx })
      if ((await requireAsked(id)) === undefined) throw new Fault('conflict', IN_DOUBT)
    },
  }
}
