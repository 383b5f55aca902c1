import type { Call, Stage } from './state.ts'

/**
 * Returns when each stage of a call began, in microseconds, for sorting: one that was found began after those that were
 * known by then.
 */
export function stageStarts({ stages }: Call): ReadonlyMap<Stage, number> {
  let lastUs = 0
  return new Map(
    stages.map((stage) => {
      lastUs = Math.max(lastUs, stage.startedUs ?? 0)
      return [stage, stage.startedUs ?? lastUs]
    }),
  )
}
