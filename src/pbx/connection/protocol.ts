import type { StateSignal } from '../../states/states.ts'
import type { Inbox } from './inbox.ts'
import type { InboxEntry } from './inbox-entry.ts'
import type { InventoryReply } from './inventory-refresh.ts'
import type { SocketAddress } from './socket.ts'

/** Takes signals of phones, trunks, agents and queues. Must not wait, since the socket's reader calls it. */
export type StateFeed = (signals: readonly StateSignal[]) => void

/**
 * Why a connection ended, for people, without secrets. `refused`: another attempt soon would not help, and the PBX
 * might ban this address.
 */
export type SessionEnd = { readonly kind: 'lost' | 'shutdown' | 'refused' | 'stopped'; readonly reason: string }

/** One run of a PBX, from its start to its end; `startedUs` is approximate, `null` if unknown. */
export type PbxRun = { readonly id: string; readonly startedUs: number | null }

/**
 * The outcome of a login. `refused`: the next one would be refused too, and a program that bans addresses might notice.
 */
export type LoginOutcome = { readonly kind: 'in' } | { readonly kind: 'refused' | 'lost'; readonly reason: string }

/** The meaning of a frame for the session. */
export type Received =
  /** An awaited reply, an event for the translator, only a sign of life, or an unwanted event. */
  | { readonly kind: 'reply' | 'event' | 'heartbeat' | 'unwanted' }
  /** An event about a phone, trunk, agent or queue only. */
  | { readonly kind: 'state' }
  /** The lists of phones, trunks, agents and queues have changed, and no event shows how. */
  | { readonly kind: 'outdated' }
  /** The PBX shuts down, or has reloaded its configuration. */
  | { readonly kind: 'shutdown' | 'reload' }
  /** An event that a caller may have written into. */
  | { readonly kind: 'tainted'; readonly event: string }
  /** The PBX ends the connection. */
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'goodbye'; readonly isShutdown: boolean; readonly reason: string }

/** The protocol of one kind of PBX, over one connection. */
export type Protocol<Frame> = {
  readonly decoder: {
    push(chunk: Uint8Array): Iterable<Frame>
    readonly fault: string | undefined
    /** The number of lines that were left out because they were too long. */
    readonly longLines: number
  }
  /** Takes a frame as it arrives, without waiting: replies go to the requests that await them. */
  receive(frame: Frame, arrivedUs: number): Received
  /** Logs in and subscribes. */
  logIn(): Promise<LoginOutcome>
  /** Returns the run of the PBX, `null` if it is unknown. */
  identifyRun(last: PbxRun | null): Promise<PbxRun | null>
  /** Requests the list of channels and puts it into the inbox; resolves with whether it was complete. */
  requestSnapshot(inbox: Inbox<InboxEntry<Frame>>): Promise<boolean>
  requestInventory(): Promise<InventoryReply>
  /** Returns the signals about phones, trunks, agents and queues in an event. */
  statesOf(frame: Frame, arrivedUs: number): readonly StateSignal[]
  /** Requests the present states of phones, trunks, agents and queues, and feeds them as they arrive. */
  requestStates(feed: StateFeed): Promise<void>
  /** Requests facts that an event leaves open; each answer is a frame that is processed like an event. */
  ask?(frame: Frame, answered: (frame: Frame) => void): void
  /** Drops the decoded values of a frame that waits among many: they are decoded again from its bytes. */
  forget?(frame: Frame): void
  /** Returns whether a frame may be dropped first when frames arrive faster than they are processed. */
  isSheddable(frame: Frame): boolean
  /** After this silence `probe` is called. */
  readonly idleMs: number
  /** Resolves with whether a silent PBX still answers. */
  probe(): Promise<boolean>
  /** The reason for the end if it does not. */
  readonly silence: string
  /** The permission that the user lacks if there is no snapshot. */
  readonly snapshotRight: string
  /** Ends all requests: there will be no replies. A last line may still be sent. */
  close(kind: SessionEnd['kind']): void
}

/** The address of a PBX, and its protocol for a connection; `lost` ends the connection. */
export type Dialect<Frame> = {
  readonly address: SocketAddress
  open(wire: Wire): Protocol<Frame>
}

/** The connection of a protocol. */
export type Wire = {
  write(text: string): void
  /** Ends the connection. */
  lost(reason: string): void
  /** Returns whether bytes have arrived that are not decoded yet: a reply may be among them. */
  isBehind(): boolean
}
