import type { Signal, Translator } from '../../calls/signal.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Endpoints } from '../endpoints.ts'

/** Where signals go. It must not wait: it is called between two reads of the socket. */
export type Feed = (signals: readonly Signal[]) => void

/** What was counted of one PBX, over all its connections. */
export type PbxCounts = {
  events: number
  /** Frames that a caller may have written into (see the decoder). */
  taints: number
  /** Times that events were lost because they came faster than they were handled. */
  overruns: number
  /** Faults of ours: what an event came to could not be worked out, and was left out. */
  faults: number
}

/** Why a connection is over. `refused`: trying again soon would not help, and might get us banned. */
export type SessionEnd = {
  readonly kind: 'lost' | 'shutdown' | 'refused' | 'stopped'
  /** In words for people, without a secret. */
  readonly reason: string
}

/** One run of a PBX, from its start to its end; `startedUs`: roughly, `null` if it does not say. */
export type Run = { readonly id: string; readonly startedUs: number | null }

/** One connection to a PBX, from connecting to its end. */
export type Session = {
  readonly ended: Promise<SessionEnd>
  /** There is a reason to doubt what is known: what is up is asked for. */
  doubt(): void
  stop(): void
}

/** How long to wait for what; a test may be in a hurry. */
export type Patience = {
  readonly connectMs: number
  readonly replyMs: number
  /** The run of the PBX is good to know, but not worth holding events back for. */
  readonly bootMs: number
  readonly listMs: number
  /** Between the two lists that must both lack a call before it is closed (events.md 9). */
  readonly relistMs: number
  /** At least this between two resyncs for taints or overruns. */
  readonly resyncMs: number
  /** Silence after which AMI is pinged. */
  readonly idleMs: number
  /** Silence after which an ESL connection is dead: two of FreeSWITCH's heartbeats and some. */
  readonly heartbeatMs: number
  /** Until the PBX has said what is configured, where that is not known at all: calls would be taken for what they are not. */
  readonly learnMs: number
  /** A reload comes in many parts. */
  readonly reloadMs: number
  /** At least this from one time that is asked what is configured to the next. */
  readonly relearnMs: number
  /** It is asked again that long after the last time: a reload of the dialplan alone says nothing. */
  readonly refreshMs: number
}

export const PATIENCE: Patience = {
  connectMs: 10_000,
  replyMs: 10_000,
  bootMs: 1_000,
  listMs: 30_000,
  relistMs: 2_000,
  resyncMs: 5_000,
  idleMs: 20_000,
  heartbeatMs: 45_000,
  learnMs: 3_000,
  reloadMs: 5_000,
  relearnMs: 60_000,
  refreshMs: 3_600_000,
}

/** How much of what the PBXs sent is not handled yet, of all of them together. */
export type Intake = { waiting: number }

export type SessionOptions<Frame> = {
  readonly intake: Intake
  readonly translator: Translator<Frame>
  /** What is known of the PBX's endpoints; asking it adds to that. */
  readonly endpoints: Endpoints
  readonly feed: Feed
  /** Whether something that was up is not in the last list (see resync). */
  readonly isAnyMissing?: (() => boolean) | undefined
  /** What `up` last told, of an earlier connection. */
  readonly lastRun: Run | null
  /** The first connection of this process to this PBX. */
  readonly first: boolean
  readonly counts: PbxCounts
  readonly log: Log
  readonly nowUs: NowUs
  readonly patience: Patience
  /** Logged in; `null` if nothing tells which run of the PBX this is. */
  readonly up: (run: Run | null) => void
}
