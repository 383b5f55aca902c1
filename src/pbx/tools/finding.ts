/**
 * `ok`: fine. `missing`: events of calls would be wrong, or absent. `advice`: they could be better, or the set-up
 * safer.
 */
export type Finding = {
  readonly level: 'ok' | 'missing' | 'advice'
  readonly text: string
  /** The line to write into the configuration of the PBX, if one is enough. */
  readonly line?: string
}
