import type { PbxSource } from '../source/pbx-url.ts'

/**
 * `ok`: fine. `missing`: events of calls would be wrong or missing. `advice`: they could be better, or the
 * configuration safer.
 */
export type Finding = {
  readonly level: 'ok' | 'missing' | 'advice'
  readonly text: string
  /** The line to write into the configuration of the PBX, if one line is enough. */
  readonly line?: string
}

/** Takes a finding of a check; `line` as in `Finding`. */
export type Find = (level: Finding['level'], text: string, line?: string) => void

/** Takes findings, and the tenant values of channels. */
export type Found = { readonly find: Find; readonly tenants: Set<string> }

/**
 * Checks the PBX itself: its address, login and rights, and its events for `listenMs` (0: not at all). Returns the
 * problem with which the check ended, with what to do; `undefined` if it reached the end.
 */
export type Check = (source: PbxSource, listenMs: number, found: Found) => Promise<string | undefined>

/** A list of 50,000 channels takes 64 MB, the events of some seconds less. */
export const MAX_BYTES = 128 * 1024 * 1024
export const TOO_MUCH = 'it sent more than 128 MB: the check ended there, and the findings are for that part'

/** Returns the problem of a connection with what to do; `where` names what to check on the PBX. */
export function withAdvice(problem: string, where: string): string {
  if (problem.endsWith('no such host')) return `${problem}: check the name`
  return /^cannot connect|closed|does not answer|no greeting/.test(problem) ? `${problem}: ${where}` : problem
}
