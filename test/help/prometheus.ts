/** One sample of a scrape. */
export type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Reads the text format 0.0.4. @throws for a line outside the format, and for a sample that was not announced. */
export function readScrape(text: string): Sample[] {
  const types = new Map<string, string>()
  const samples: Sample[] = []
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line)
    if (type?.[1] !== undefined && type[2] !== undefined) types.set(type[1], type[2])
    if (line === '' || line.startsWith('# ')) continue
    const [, name = '', inner = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (-?[\d.e+-]+|\+Inf|NaN)$/.exec(line) ?? []
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
    if (!types.has(family)) throw new Error(`not announced: ${line}`)
    const labels = Object.fromEntries(
      [...inner.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text = '']) => [key, text]),
    )
    samples.push({ name, labels, value: Number(value) })
  }
  return samples
}

/** Returns the sum of the samples with this name and these labels, or `undefined` without such a sample. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}
