/** `wrong`: calls are not told until it is mended. `advice`: it works, and could do better. */
export type Diagnosis = {
  readonly level: 'ok' | 'advice' | 'wrong'
  /** Settings, store, disk, … */
  readonly about: string
  readonly text: string
  /** The line that mends it. */
  readonly mend?: string
}

export const ok = (about: string, text: string): Diagnosis => ({ level: 'ok', about, text })
export const advice = (about: string, text: string, mend?: string): Diagnosis => ({
  level: 'advice',
  about,
  text,
  ...(mend === undefined ? {} : { mend }),
})
export const wrong = (about: string, text: string, mend: string): Diagnosis => ({ level: 'wrong', about, text, mend })
