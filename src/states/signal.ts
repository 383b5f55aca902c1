import type { AgentState, TrunkState } from './model.ts'

/** PBX-neutral facts about phones, trunks, agents and queues, in the order in which a PBX reports them. */

/** `absent`: the PBX cannot reach it. */
export type DeviceFact = 'idle' | 'ringing' | 'in_use' | 'unknown' | 'absent'
/** `unchecked`: it is registered, and the PBX does not check whether it answers. */
export type ContactFact = 'reachable' | 'unreachable' | 'unchecked'

/** What is known of an endpoint beside its state. */
export type EndpointEntry = {
  /** As the PBX calls it: `PJSIP/101`, `1001@example.org`. */
  readonly endpoint: string
  readonly kind: 'phone' | 'trunk'
  /** The extension of a phone; the trunk as the PBX's configuration calls it. */
  readonly key: string
  readonly name: string | null
  /**
   * The value by which it shows its customer, where the PBX serves several; `null` if it shows none, `undefined` if the
   * PBX has yet to be asked: then it is nobody's.
   */
  readonly tenant: string | null | undefined
}

/** Lists that a PBX gives on request. Each is the whole truth about what it lists. */
export type StateList = 'devices' | 'contacts' | 'registrations' | 'queues'

/** `atUs`: when it happened, on the wall clock. */
export type StateSignal = { readonly atUs: number } & (
  | { readonly kind: 'connected' | 'disconnected' }
  /** What is between the two is of the list, or happened meanwhile; what is in neither is not there any more. */
  | { readonly kind: 'list_began'; readonly list: StateList }
  | { readonly kind: 'list_ended'; readonly list: StateList; readonly isComplete: boolean }
  /** All lists after a connection were requested. */
  | { readonly kind: 'listed' }
  /** All endpoints that are known. */
  | { readonly kind: 'endpoints'; readonly endpoints: readonly EndpointEntry[] }
  /** Another endpoint, beside those that are known. */
  | { readonly kind: 'endpoint'; readonly entry: EndpointEntry }
  /** The value by which an endpoint shows its customer. */
  | { readonly kind: 'tenant'; readonly endpoint: string; readonly tenant: string | null }
  | { readonly kind: 'device'; readonly endpoint: string; readonly device: DeviceFact }
  | { readonly kind: 'contact'; readonly endpoint: string; readonly contact: string; readonly state: ContactFact }
  | { readonly kind: 'contact_gone'; readonly endpoint: string; readonly contact: string }
  | {
      readonly kind: 'registration'
      readonly trunk: string
      readonly state: TrunkState
      readonly reason: string | null
    }
  | { readonly kind: 'queue'; readonly queue: string }
  | {
      readonly kind: 'member'
      readonly queue: string
      /** As the queue calls it: `PJSIP/101`, `Local/101@from-queue/n`. */
      readonly member: string
      /** The endpoint of the member's phone, and the extension if that endpoint has none. */
      readonly endpoint: string
      readonly extension: string
      readonly state: AgentState
      readonly reason: string | null
    }
  | { readonly kind: 'member_gone'; readonly queue: string; readonly member: string }
  | { readonly kind: 'caller'; readonly queue: string; readonly caller: string; readonly sinceUs: number }
  | { readonly kind: 'caller_gone'; readonly queue: string; readonly caller: string }
)
