import type { AttemptRow } from '../../store/operations/log.ts'
import type { Progress } from '../../webhooks/flows/machine.ts'
import type { Kept } from '../../webhooks/flows/model.ts'

/** What a turn of a flow has come to, beside its outcome. */
export type TurnRecord = {
  readonly attempts: readonly AttemptRow[]
  readonly progress: Progress
  /** The values that it has kept. */
  readonly kept: Kept
  /** How many requests were sent. */
  readonly requests: number
}
