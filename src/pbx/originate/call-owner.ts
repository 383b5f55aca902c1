import { type Ownership, pbxLease } from '../../cluster/cluster.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { TakenCallRequest } from '../../store/operations/call-requests.ts'
import type { Store } from '../../store/store.ts'
import { CALL_TIMEOUTS, type CallAnswer } from '../connection/call-order.ts'
import { KINDS } from '../kinds.ts'
import { pbxKindOf } from '../source/pbx-url.ts'
import type { WatchedPbx } from '../watch/watched-pbx.ts'
import { createFollower } from './follower.ts'
import { orderOf } from './order.ts'

/**
 * Makes the calls of requests on the PBXs that this node watches. A request is taken from the store before its PBX is
 * asked, and never again: see store/operations/call-requests.ts for its states. Whatever is lost then (the answer, the
 * PBX, this process), no second call is made; the events of the PBX show whether there is a first one.
 */
export type CallOwner = {
  /** Takes the requests that wait, since one was stored. */
  wake(): void
  stop(): Promise<void>
}

/** A PBX that this node watches. */
type CallablePbx = Pick<WatchedPbx, 'source' | 'status' | 'requestedCall' | 'channelsUp' | 'devicesOf'>

type CallOwnerOptions = {
  readonly store: Pick<Store, 'callRequests' | 'accounts'>
  readonly ownership: Pick<Ownership, 'fenceOf'>
  readonly running: () => readonly CallablePbx[]
  readonly log: Log
  readonly nowUs: NowUs
}

/** How often PBXs that this node watches anew are found. */
const CHECK_MS = 1_000

/** Starts to make the calls that are requested. */
export function startCallOwner({ store, ownership, running, log, nowUs }: CallOwnerOptions): CallOwner {
  const { callRequests } = store
  const fence = (pbx: string) => ownership.fenceOf(pbxLease(pbx))
  const callable = () => running().filter(({ source }) => source.calls !== undefined)
  const watched = (pbx: string) => callable().find(({ source }) => source.name === pbx)
  const follower = createFollower({
    watched,
    onCall: ({ id, pbx, callId }) => callRequests.callRequestSetCall({ id, callId }, fence(pbx)),
    onOver: ({ id, pbx }) => callRequests.callRequestSetOver([id], fence(pbx)),
    log,
  })
  /** PBXs whose open requests of before are followed. */
  const known = new WeakSet<CallablePbx>()
  const working = new Set<Promise<void>>()
  let turning: Promise<void> | undefined
  let isAskedAgain = false
  let isStopped = false

  async function take(): Promise<void> {
    for (const pbx of callable()) {
      const { name } = pbx.source
      try {
        if (!known.has(pbx)) {
          for (const open of await callRequests.callRequestListOpen({ pbx: name, atUs: nowUs() })) follow(open)
          known.add(pbx)
        }
        const taken = await callRequests.callRequestTake({ pbx: name, atUs: nowUs() }, fence(name))
        for (const request of taken) begin(pbx, request)
      } catch (error) {
        log.warn({ pbx: name, err: error }, 'requests for calls cannot be read; those of the next seconds are')
      }
    }
  }

  const follow = (request: { readonly id: string; readonly pbx: string; readonly callId: string | null }) =>
    follower.follow(request)

  function begin(pbx: CallablePbx, request: TakenCallRequest): void {
    const work = serve(pbx, request)
      .catch((error) => log.error({ pbx: request.pbx, request: request.id, err: error }, 'a request for a call failed'))
      .finally(() => working.delete(work))
    working.add(work)
  }

  async function serve(pbx: CallablePbx, request: TakenCallRequest): Promise<void> {
    const answer = await ask(pbx, request)
    const reason = answer.kind === 'made' ? null : answer.reason
    log.info({ pbx: request.pbx, request: request.id, answer: answer.kind, reason }, 'the PBX was asked for a call')
    await callRequests.callRequestSetAnswer({ id: request.id, state: answer.kind, reason }, fence(request.pbx))
  }

  async function ask(pbx: CallablePbx, request: TakenCallRequest): Promise<CallAnswer> {
    const { source } = pbx
    const { extension, callId } = request
    if (pbx.status().state !== 'up') return { kind: 'refused', reason: 'the PBX is not connected' }
    const maker = KINDS[pbxKindOf(source)].createCallMaker(source, CALL_TIMEOUTS)
    if (extension === null) {
      const channels = pbx.channelsUp(callId ?? '')
      return channels.length === 0 ? { kind: 'refused', reason: 'the call is over' } : await maker.hangUp(channels)
    }
    const account = await store.accounts.accountGetName(request.accountId)
    const ordered = orderOf(source, request, account === undefined ? [] : pbx.devicesOf(account, extension))
    if ('reason' in ordered) return { kind: 'refused', reason: ordered.reason }
    return await maker.call(ordered.order, follow({ id: request.id, pbx: request.pbx, callId: null }))
  }

  function wake(): void {
    if (isStopped) return
    if (turning !== undefined) isAskedAgain = true
    turning ??= take().finally(() => {
      turning = undefined
      const again = isAskedAgain
      isAskedAgain = false
      if (again) wake()
    })
  }
  const checking = setInterval(() => {
    if (callable().some((pbx) => !known.has(pbx))) wake()
  }, CHECK_MS)

  return {
    wake,
    async stop() {
      isStopped = true
      clearInterval(checking)
      await turning
      await Promise.all(working)
      follower.stop()
    },
  }
}
