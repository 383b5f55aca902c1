/** The mark before a state: a dot, for trouble (`bad`, `warn`) a square and a coloured word. */
export type Tone = 'good' | 'ring' | 'wait' | 'none' | 'neutral' | 'bad' | 'warn'
