import type { Log } from '../../lib/log.ts'
import type { WatchedPbx } from '../watch/watched-pbx.ts'

/** A request whose call is looked for among the events of its PBX. */
type Followed = {
  readonly id: string
  readonly pbx: string
  readonly sinceMs: number
  callId: string | null
  readonly seen: PromiseWithResolvers<void>
}

type FollowerOptions = {
  readonly watched: (pbx: string) => Pick<WatchedPbx, 'requestedCall'> | undefined
  /** Called once when the call of a request is known, and once when its phone has left it. */
  readonly onCall: (request: { readonly id: string; readonly pbx: string; readonly callId: string }) => Promise<void>
  readonly onOver: (request: { readonly id: string; readonly pbx: string }) => Promise<void>
  readonly log: Log
}

type Follower = {
  /** Follows a request; resolves `seen` when its call is seen. `callId`: its call, if that is known already. */
  follow(request: { readonly id: string; readonly pbx: string; readonly callId: string | null }): Promise<void>
  stop(): void
}

/** The requester waits for the id of the call. */
const FAST_MS = 50
const SLOW_MS = 1_000
const FAST_FOR_MS = 4_000
/** A call that its PBX has not shown by then was not made. */
const UNSEEN_MS = 60_000

/** Follows the calls of requests by the events of their PBXs: which calls they are, and when their phones left them. */
export function createFollower({ watched, onCall, onOver, log }: FollowerOptions): Follower {
  const followed = new Map<string, Followed>()
  let timer: Timer | undefined

  const failed = (error: unknown): void =>
    log.warn({ err: error }, 'the state of a call that was made cannot be stored; its phone may seem busy for a minute')

  function look(one: Followed): void {
    const pbx = watched(one.pbx)
    // Another node, which reads the open requests, follows it from now on.
    if (pbx === undefined) {
      forget(one)
      return
    }
    const found = pbx.requestedCall(one.id)
    if (found !== undefined && one.callId === null && found.account !== null) {
      one.callId = found.callId
      onCall({ id: one.id, pbx: one.pbx, callId: found.callId }).catch(failed)
    }
    if (found !== undefined) one.seen.resolve()
    const isOver = one.callId === null ? performance.now() - one.sinceMs > UNSEEN_MS : found?.isPhoneUp !== true
    if (!isOver) return
    forget(one)
    onOver({ id: one.id, pbx: one.pbx }).catch(failed)
  }

  function forget(one: Followed): void {
    followed.delete(one.id)
    one.seen.resolve()
  }

  function schedule(): void {
    clearTimeout(timer)
    if (followed.size === 0) return
    const nowMs = performance.now()
    const isFast = followed.values().some(({ callId, sinceMs }) => callId === null && nowMs - sinceMs < FAST_FOR_MS)
    timer = setTimeout(turn, isFast ? FAST_MS : SLOW_MS)
  }

  function turn(): void {
    for (const one of [...followed.values()]) look(one)
    schedule()
  }

  return {
    follow({ id, pbx, callId }) {
      const known = followed.get(id)
      if (known !== undefined) return known.seen.promise
      const seen = Promise.withResolvers<void>()
      followed.set(id, { id, pbx, callId, sinceMs: performance.now(), seen })
      schedule()
      return seen.promise
    },
    stop() {
      clearTimeout(timer)
      for (const one of [...followed.values()]) forget(one)
    },
  }
}
