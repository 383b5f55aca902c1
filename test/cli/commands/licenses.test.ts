import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import manifest from '../../../package.json' with { type: 'json' }
import type { Notice } from '../../../src/cli/third-party-notices.ts'
import { emptyFolder, run } from '../../help/app.ts'

const ROOT = resolve(import.meta.dir, '../../..')

/** Returns the packages whose code is in the executable. */
async function bundled(): Promise<Set<string>> {
  const { scripts } = manifest
  const entrypoints = [...scripts.build.matchAll(/src\/\S+\.ts/g)].map(([path]) => resolve(ROOT, path))
  const { metafile } = await Bun.build({ entrypoints, target: 'bun', metafile: true })
  const names = Object.keys(metafile?.inputs ?? {}).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
  return new Set(names.filter((name) => name !== undefined))
}

test('the executable holds the licence of every package that is inside it, and of Bun', async () => {
  using folder = emptyFolder()
  const { code, stdout } = await run(['licenses', '--json'], { cwd: folder.path })
  expect(code).toBe(0)
  const notices: Notice[] = JSON.parse(stdout)
  const names = notices.map(({ name }) => name)
  expect(names[0]).toBe('Bun')
  expect(new Set(names).size).toBe(names.length)
  const inside = await bundled()
  expect(inside.size).toBeGreaterThan(10)
  expect(names).toEqual(expect.arrayContaining([...inside, ...Object.keys(manifest.dependencies)]))
  expect(notices.filter(({ text, license }) => text.length < 100 || license === 'unknown')).toEqual([])
})

test('they are printed whole, ours first', async () => {
  using folder = emptyFolder()
  const { stdout } = await run(['licenses'], { cwd: folder.path })
  expect(stdout).toStartWith('MIT License\n\nCopyright (c) 2026 The Hookswitch authors')
  for (const text of [
    'JavaScriptCore',
    'Apache License',
    'see its text under libphonenumber-js',
    '\nlibphonenumber-js 1',
    '\nelysia 1.',
    'Borewit',
  ])
    expect(stdout).toContain(text)
})
