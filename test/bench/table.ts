/** One line of the table. `reached` is the ratio or figure that the bar is for. */
export type Row = {
  readonly what: string
  readonly bar: string
  readonly reached: string
  /** `undefined`: there is no bar. */
  readonly met: boolean | undefined
  readonly detail: string
}

const count = (value: number) => Math.round(value).toLocaleString('en')

export const atLeast = (what: string, bar: number, reached: number, detail: string): Row => ({
  what,
  bar: `≥ ${bar}`,
  reached: reached.toFixed(2),
  met: reached >= bar,
  detail,
})
export const atMost = (what: string, bar: number, reached: number, unit: string, detail = ''): Row => ({
  what,
  bar: `≤ ${bar}${unit}`,
  reached: `${reached < 10 ? reached.toFixed(2) : count(reached)}${unit}`,
  met: reached <= bar,
  detail,
})
export const figure = (what: string, reached: number, unit: string, detail = ''): Row => ({
  what,
  bar: '',
  reached: `${reached < 10 ? reached.toFixed(2) : count(reached)}${unit}`,
  met: undefined,
  detail,
})
export const perSecond = (rate: number) => `${count(rate)}/s`

export function print(rows: readonly Row[]): void {
  const cells = rows.map(({ what, bar, reached, met, detail }) => [
    what,
    bar,
    reached,
    met === undefined ? '' : met ? 'yes' : 'NO',
    detail,
  ])
  const all = [['what', 'bar', 'reached', 'met', 'detail'], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  for (const row of all)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}
