/**
 * One finding of `doctor`. `wrong`: events are not delivered until it is fixed. `advice`: it works, but could work
 * better.
 */
export type Diagnosis = {
  readonly level: 'ok' | 'advice' | 'wrong'
  /** The part that was checked: settings, store, disk, … */
  readonly about: string
  readonly text: string
  /** The command, or the sentence, that fixes it. */
  readonly fix?: string
}

/** Makes a finding that needs no action. */
export const ok = (about: string, text: string): Diagnosis => ({ level: 'ok', about, text })

/** Makes a finding that the operator may want to act on. */
export const advice = (about: string, text: string, fix?: string): Diagnosis => ({
  level: 'advice',
  about,
  text,
  ...(fix === undefined ? {} : { fix }),
})

/** Makes a finding that has to be fixed, with its fix. */
export const wrong = (about: string, text: string, fix: string): Diagnosis => ({ level: 'wrong', about, text, fix })
