import { expect, test } from 'bun:test'
import { mutateSource } from './help/mutants/mutate-source.ts'

// What a mutant changes, and that the instrumented source is the source while no mutant is active.

const SOURCE = `import { x } from './x.ts'
type Kind = 'a' | 'b'
const LIMIT = 1_000
/** Sums up. */
function f(a: { atUs: number; name?: string } | undefined, kind: Kind): { at: number; n: string } | null {
  // A comment.
  if (a === undefined || (kind === 'b' && a.atUs <= LIMIT)) return null
  let count = 0
  count += a.atUs
  return { at: count, n: a.name?.trim() ?? 'none' }
}
`

test('each condition, constant and source of a field is a mutant; types, imports and left sides are not', () => {
  const { mutants } = mutateSource('f.ts', SOURCE, 1)
  const texts = mutants.map(
    ({ line, kind, from, to, isStatic }) => `${line} ${kind}: ${from} → ${to}${isStatic ? ' (static)' : ''}`,
  )
  for (const text of [
    '3 constant: 1_000 → 2000 (static)',
    "7 condition: kind === 'b' → (kind) !== ('b')",
    '7 condition: a.atUs <= LIMIT → (a.atUs) < (LIMIT)',
    '7 source: a.atUs → a.arrivedUs',
    '10 source: count → null',
    "10 constant: 'none' → ''",
  ])
    expect(texts).toContain(text)
  expect(mutants.filter(({ line }) => line < 3 || line === 5)).toEqual([])
  expect(mutants.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(mutants.map((_, index) => index + 1))
})

test('with no mutant active the source does what it did, with one active what the mutant says', () => {
  const { text, mutants } = mutateSource('f.ts', SOURCE, 1)
  const code = new Bun.Transpiler({ loader: 'ts' }).transformSync(text.replace(/^import.*/, ''))
  const run = (active: number): unknown =>
    new Function('isMutant', `${code}\nreturn f({ atUs: 1000, name: ' z ' }, 'a')`)((id: number) => id === active)
  expect(run(0)).toEqual({ at: 1_000, n: 'z' })
  const field = mutants.find(({ line, kind }) => line === 10 && kind === 'source')
  expect(run(field?.id ?? 0)).toEqual({ at: null, n: 'z' })
})
