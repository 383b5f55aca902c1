import type { Fence } from './cluster.ts'

// Requests to make calls, and to hang them up. The owner of the PBX takes them, whichever node was asked.

/**
 * No move is ever undone: `stored` → `asked`, before the PBX is asked, or → `refused`, if the request got too old
 * before; `asked` → `made`, `refused` or `unanswered`. So a request is sent to a PBX once at most, whichever process
 * ends in between; a request whose process ended before the answer stays `asked`.
 */
export type CallRequestState = 'stored' | 'asked' | 'made' | 'refused' | 'unanswered'

type CallRequestFacts = {
  /** The request id, a UUID. */
  readonly id: string
  readonly accountId: number
  readonly pbx: string
  /** The phone that rings; `null` for a call to hang up. */
  readonly extension: string | null
  /** The call to hang up; of a call to make, once it is known, the call. */
  readonly callId: string | null
}

/** A request to store. `number` and `name` are deleted when the PBX has answered. */
export type NewCallRequest = CallRequestFacts & {
  readonly number: string | null
  readonly name: string | null
  /** The present time; a shared database has its own. */
  readonly atUs: number
  /** The most calls that an account may have made within a minute. */
  readonly limit: number
}

/** A request that the PBX is asked now. */
export type TakenCallRequest = CallRequestFacts & Pick<NewCallRequest, 'number' | 'name'>

export type CallRequestRecord = CallRequestFacts & {
  readonly state: CallRequestState
  /** Why it was refused, or is unanswered. */
  readonly reason: string | null
}

/** `busy`: the phone is in such a call, or about to be. */
export type CallRequestAdded =
  | { readonly kind: 'added' | 'busy' }
  | { readonly kind: 'too_many'; readonly waitUs: number }

export type CallRequestStore = {
  /** Stores a request, unless its phone is busy or its account has used its limit. */
  callRequestAdd(request: NewCallRequest): Promise<CallRequestAdded>
  /**
   * Takes the requests for a PBX that were stored within 3 seconds: they are `asked` from now on. Older ones are
   * refused.
   */
  callRequestTake(of: { pbx: string; atUs: number }, fence?: Fence): Promise<TakenCallRequest[]>
  /** Notes the answer of the PBX to a request that it was asked. */
  callRequestSetAnswer(
    answer: { id: string; state: 'made' | 'refused' | 'unanswered'; reason: string | null },
    fence?: Fence,
  ): Promise<void>
  /** Notes the call that was made for a request. */
  callRequestSetCall(made: { id: string; callId: string }, fence?: Fence): Promise<void>
  /** Notes that the phones of these requests are in their calls no longer. */
  callRequestSetOver(ids: readonly string[], fence?: Fence): Promise<void>
  /** Returns a request, `undefined` for an unknown id. */
  callRequestGet(id: string): Promise<CallRequestRecord | undefined>
  /** Returns the requests whose phones are busy by them on a PBX. */
  callRequestListOpen(of: { pbx: string; atUs: number }): Promise<CallRequestRecord[]>
}
