import { expect, test } from 'bun:test'
import { cpSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { emptyFolder } from './help/app.ts'

const ROOT = resolve(import.meta.dir, '..')

test('the first stage of the Dockerfile copies all that the build needs', async () => {
  using folder = emptyFolder()
  const [stage = ''] = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split(/^FROM (?!.* AS build$)/m)
  for (const [, line = ''] of stage.matchAll(/^COPY (.*)$/gm)) {
    const words = line.split(' ')
    const to = join(folder.path, words.at(-1) ?? '')
    for (const file of words.slice(0, -1)) {
      const isFolder = statSync(join(ROOT, file)).isDirectory()
      cpSync(join(ROOT, file), isFolder ? to : join(to, file), { recursive: true })
    }
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
  // The same as `bun run build`, without installing.
  const built = Bun.spawnSync(manifest.scripts.build.split(' '), { cwd: folder.path, stdout: 'pipe', stderr: 'pipe' })
  expect([built.exitCode, built.exitCode === 0 ? '' : built.stderr.toString()]).toEqual([0, ''])
  const ran = Bun.spawnSync([join(folder.path, 'dist/hookswitch'), 'licenses'], { env: {} })
  expect(ran.stdout.toString()).toStartWith('MIT License')
})
