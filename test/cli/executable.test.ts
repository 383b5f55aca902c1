import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Glob } from 'bun'
import { buildOnce, EXECUTABLE } from '../help/app.ts'

const ROOT = resolve(import.meta.dir, '../..')

/** Specifiers of dynamic imports, in a text that may have them on lines of their own. */
const specifiersIn = (text: string) =>
  [...text.matchAll(/\bimport\(\s*["'`]([\w$@:./-]+)["'`]\s*\)/g)].map(([, one]) => one)

// The bundler has rewritten such an import to a path that did not exist; a command failed only when it was run.
test('each module that the executable loads when it is needed is a file inside it', async () => {
  await buildOnce()
  const inside = specifiersIn(readFileSync(EXECUTABLE, 'latin1'))
  // A page's script loads its own from the service, by a name with a hash.
  const isKnown = (specifier = ''): boolean => /^\/(?:\$bunfs\/root\/[\w-]+|chunk-\w+)\.js$/.test(specifier)
  expect(inside.filter((specifier) => !isKnown(specifier))).toEqual([])
  const sources = [...new Glob('src/**/*.{ts,tsx}').scanSync(ROOT)]
  const wanted = sources.flatMap((path) => specifiersIn(readFileSync(join(ROOT, path), 'utf8')))
  expect(new Set(inside).size).toBeGreaterThanOrEqual(new Set(wanted.map((one) => one?.split('/').at(-1))).size)
})
