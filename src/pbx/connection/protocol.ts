import type { StateSignal } from '../../states/signal.ts'
import type { Inbox } from './inbox.ts'
import type { InboxEntry } from './inbox-entry.ts'
import type { InventoryReply } from './inventory-refresh.ts'
import type { SocketAddress } from './socket.ts'

/** Takes signals of phones, trunks, agents and queues. It must not wait: the socket's reader calls it. */
export type StateFeed = (signals: readonly StateSignal[]) => void

/**
 * Why a connection is over, for people, without a secret. `refused`: trying again soon would not help, and might get
 * us banned.
 */
export type SessionEnd = { readonly kind: 'lost' | 'shutdown' | 'refused' | 'stopped'; readonly reason: string }

/** One run of a PBX, from its start to its end; `startedUs`: roughly, `null` if unknown. */
export type PbxRun = { readonly id: string; readonly startedUs: number | null }

/** The outcome of a login. `refused`: it would be refused again, and might be noticed by what bans addresses. */
export type LoginOutcome = { readonly kind: 'in' } | { readonly kind: 'refused' | 'lost'; readonly reason: string }

/** The meaning of a frame for the session. */
export type Received =
  /** A reply that was awaited, an event for the translator, a mere sign of life, or nothing of use. */
  | { readonly kind: 'reply' | 'event' | 'heartbeat' | 'unwanted' }
  /** An event of a phone, trunk, agent or queue alone. */
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

/** How to talk to one kind of PBX over one connection. */
export type Protocol<Frame> = {
  readonly decoder: { push(chunk: Uint8Array): Iterable<Frame>; readonly fault: string | undefined }
  /** Takes a frame as it arrives, without waiting for anything: replies are handed to the requests that await them. */
  receive(frame: Frame, arrivedUs: number): Received
  /** Logs in and subscribes. */
  logIn(): Promise<LoginOutcome>
  /** Returns the run of the PBX, `null` if it is unknown. */
  identifyRun(last: PbxRun | null): Promise<PbxRun | null>
  /** Requests the list of channels and puts it into the inbox; resolves with whether it was complete. */
  requestSnapshot(inbox: Inbox<InboxEntry<Frame>>): Promise<boolean>
  requestInventory(): Promise<InventoryReply>
  /** Returns what an event shows of phones, trunks, agents and queues. */
  statesOf(frame: Frame, arrivedUs: number): readonly StateSignal[]
  /** Requests what phones, trunks, agents and queues are now, and feeds it as it arrives. */
  requestStates(feed: StateFeed): Promise<void>
  /** Asks the PBX what an event leaves open; each answer is a frame that is taken like an event. */
  ask?(frame: Frame, answered: (frame: Frame) => void): void
  /** Returns whether a frame may be dropped first when frames arrive faster than they are handled. */
  isSheddable(frame: Frame): boolean
  /** Silence after which `probe` is called. */
  readonly idleMs: number
  /** Resolves with whether a PBX that has been silent is still there. */
  probe(): Promise<boolean>
  /** The reason for the end when it is not. */
  readonly silence: string
  /** The right that its user lacks if there is no snapshot. */
  readonly snapshotRight: string
  /** Ends all requests: none will be answered. A last line may still be sent. */
  close(kind: SessionEnd['kind']): void
}

/** The address of a PBX, and its protocol over a connection; `lost` ends the connection. */
export type Dialect<Frame> = {
  readonly address: SocketAddress
  open(wire: { write(text: string): void; lost(reason: string): void }): Protocol<Frame>
}
