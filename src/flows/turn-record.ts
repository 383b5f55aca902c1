import type { AttemptRow } from '../store/operations/log.ts'
import { type Progress, progressAfter } from './flow-machine.ts'
import type { Kept, Step } from './model.ts'
import type { StepData } from './step-renderer.ts'

/** The results of a flow's turn, besides its outcome. */
export type TurnRecord = {
  readonly attempts: readonly AttemptRow[]
  readonly progress: Progress
  /** The values that it has kept. */
  readonly kept: Kept
  /** The names of the values of the call that it has forgotten before. */
  readonly forgotten: readonly string[]
  /** How many requests were sent. */
  readonly requests: number
}

export type Turn = ReturnType<typeof newTurn>

/** Creates the state of a turn: its progress so far. */
export function newTurn<Facts>(begun: {
  body: string
  kept: Kept
  merged: StepData['merged']
  progress: Progress
  facts: Facts
}) {
  const attempts: AttemptRow[] = []
  let { progress, kept } = begun
  let keptNow: Kept = {}
  let forgotten: readonly string[] = []
  let requests = 0
  return {
    /** The event, as the steps see it. */
    body: begun.body,
    merged: begun.merged,
    facts: begun.facts,
    get progress() {
      return progress
    },
    get kept() {
      return kept
    },
    /** Notes an attempt; no two have the same time, which is their key. */
    log(attempt: Omit<AttemptRow, 'probe'>): void {
      const lastUs = attempts.at(-1)?.atUs ?? Number.NEGATIVE_INFINITY
      attempts.push({ ...attempt, atUs: Math.max(attempt.atUs, lastUs + 1), probe: false })
    },
    isEmpty: (): boolean => attempts.length === 0,
    noteRequest(): void {
      requests += 1
    },
    advance(step: Step, end: Parameters<typeof progressAfter>[2]): void {
      progress = progressAfter(progress, step, end)
    },
    setProgress(now: Progress): void {
      progress = now
    },
    keep(values: Kept): void {
      kept = { ...kept, ...values }
      keptNow = { ...keptNow, ...values }
    },
    forget(names: readonly string[]): void {
      const without = (values: Kept): Kept =>
        Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)))
      kept = without(kept)
      keptNow = without(keptNow)
      forgotten = [...new Set([...forgotten, ...names])]
    },
    record: (): TurnRecord => ({ attempts, progress, kept: keptNow, forgotten, requests }),
  }
}
