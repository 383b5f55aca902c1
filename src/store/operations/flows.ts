import type { Fence } from './cluster.ts'
import type { AttemptRow } from './log.ts'

// Flows: how far the steps of deliveries are, and the values that are kept for calls.

/** The kept values of a call, by name. */
export type KeptValues = Readonly<Record<string, string | number | boolean>>

/**
 * How far the steps of a delivery are, by their names: `done`, `skipped`, or how many elements of a list are made; then
 * also the generation of the delivery in which a request of the step has begun, and whether it was answered.
 */
export type FlowProgress = Readonly<
  Record<string, 'done' | 'skipped' | { readonly made: number; readonly begun?: number; readonly isAnswered?: true }>
>

/** `kept`: the values of each of the calls that has some. */
export type FlowState = { readonly progress: FlowProgress; readonly kept: ReadonlyMap<string, KeptValues> }

/** What came of a turn of a flow: the attempts on its steps, and the state of its delivery after them. */
export type FlowTurn = {
  readonly deliveryId: number
  readonly webhookId: number
  readonly callId: string
  readonly generation: number
  /** A number of DELIVERY_STATES. */
  readonly state: number
  readonly tries: number
  readonly attemptsMade: number
  readonly dueSteadyUs: number | null
  readonly endedUs: number | null
  /** Ordered by time; all times are different. */
  readonly attempts: readonly AttemptRow[]
  readonly progress: FlowProgress
  /** The values that this turn has kept; others of the call stay. */
  readonly kept: KeptValues
  /** The names of values of the call that are deleted before. */
  readonly forgotten: readonly string[]
  /** Wall time. */
  readonly nowUs: number
}

export type FlowStore = {
  /** Returns how far a delivery is, and the values that its webhook has kept for these calls. */
  flowGet(query: { deliveryId: number; webhookId: number; callIds: readonly string[] }): Promise<FlowState>
  /**
   * Records the progress of a delivery before a request is sent, on disk. Nothing happens if the delivery is no longer
   * there.
   */
  flowBegin(begun: { deliveryId: number; progress: FlowProgress }, fence?: Fence): Promise<void>
  /**
   * Records a turn of a flow: its attempts, its progress and what it has kept, in one commit that is on disk. Returns
   * false if the delivery was cancelled or retried by hand meanwhile: then its state stays as it is there. The progress
   * of a delivery that is delivered is deleted.
   */
  flowRecord(turn: FlowTurn, fence?: Fence): Promise<boolean>
  /** Deletes values that were kept before a time, at most `limit` calls of webhooks. Returns how many. */
  keptPrune(step: { beforeUs: number; limit: number }): Promise<number>
  /** Deletes the progress of deliveries that are no longer there, at most `limit`. Returns how many. */
  flowProgressPrune(limit: number): Promise<number>
}
