import type { AgentState, TrunkState } from '../events/states.ts'

/** PBX-neutral facts about phones, trunks, agents and queues, in the order of the PBX's reports. */

/** `absent`: the PBX cannot reach it. */
export type DeviceFact = 'idle' | 'ringing' | 'in_use' | 'unknown' | 'absent'
/** `unchecked`: it is registered, and the PBX does not check whether it answers. */
export type ContactFact = 'reachable' | 'unreachable' | 'unchecked'

/** An endpoint of the PBX's configuration, without its state. */
export type EndpointEntry = {
  /** Its name in the PBX: `PJSIP/101`, `1001@example.org`. */
  readonly endpoint: string
  readonly kind: 'phone' | 'trunk'
  /** The extension of a phone; the name of a trunk in the PBX's configuration. */
  readonly key: string
  readonly name: string | null
  /**
   * Its tenant value, if the PBX serves several customers; `null` if it shows none. `undefined` if the PBX was not
   * asked yet: then it belongs to no account.
   */
  readonly tenant: string | null | undefined
}

/** Lists that a PBX gives on request. Each is complete for its kind. */
export type StateList = 'devices' | 'contacts' | 'registrations' | 'queues'

/** `atUs`: when it happened, on the wall clock. */
export type StateSignal = { readonly atUs: number } & (
  | { readonly kind: 'connected' | 'disconnected' }
  /** Signals between the two belong to the list, or happened meanwhile; entries in neither are gone. */
  | { readonly kind: 'list_began'; readonly list: StateList }
  | { readonly kind: 'list_ended'; readonly list: StateList; readonly isComplete: boolean }
  /** All lists after a connection are complete. */
  | { readonly kind: 'listed' }
  /** All known endpoints. */
  | { readonly kind: 'endpoints'; readonly endpoints: readonly EndpointEntry[] }
  /** A newly found endpoint, in addition to the known ones. */
  | { readonly kind: 'endpoint'; readonly entry: EndpointEntry }
  /** The tenant value of an endpoint. */
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
      /** Its name in the queue: `PJSIP/101`, `Local/101@from-queue/n`. */
      readonly member: string
      /** The endpoint of the member's phone; its extension if the endpoint has none. */
      readonly endpoint: string
      readonly extension: string
      readonly state: AgentState
      readonly reason: string | null
    }
  | { readonly kind: 'member_gone'; readonly queue: string; readonly member: string }
  | { readonly kind: 'caller'; readonly queue: string; readonly caller: string; readonly sinceUs: number }
  | { readonly kind: 'caller_gone'; readonly queue: string; readonly caller: string }
)
