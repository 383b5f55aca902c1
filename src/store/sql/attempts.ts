import type { AttemptRow } from '../operations/log.ts'

/** An attempt as its row has it. */
export type StoredAttempt = Omit<AttemptRow, 'probe' | 'step'> & {
  readonly probe: unknown
  readonly step: string | null
  readonly method: string | null
  readonly url: string | null
  readonly kept: string | null
}

export function attemptOf({ probe, step, method, url, kept, ...row }: StoredAttempt): AttemptRow {
  const attempt = { ...row, probe: Boolean(probe) }
  if (step === null) return attempt
  return { ...attempt, step: { name: step, method, url, kept: kept === null ? [] : JSON.parse(kept) } }
}
