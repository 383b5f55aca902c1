import type { AttemptRow } from '../../store/operations/log.ts'
import type { Progress } from '../../webhooks/flows/flow-machine.ts'
import type { Kept } from '../../webhooks/flows/model.ts'

/** The results of a flow's turn, besides its outcome. */
export type TurnRecord = {
  readonly attempts: readonly AttemptRow[]
  readonly progress: Progress
  /** The values that it has kept. */
  readonly kept: Kept
  /** How many requests were sent. */
  readonly requests: number
}
