import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { registryOf } from '../../../../src/store/sqlite/engine/writer.ts'

const ENGINE = resolve(import.meta.dir, '../../../../src/store/sqlite')

test('every mutation of the engine is known to the thread that writes', async () => {
  const files = readdirSync(ENGINE, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.d.ts'),
  )
  const modules: object[] = await Promise.all(files.map((name) => import(join(ENGINE, name))))
  const text = await Bun.file(resolve(ENGINE, '../../app/writer.ts')).text()
  const registered: object[] = await Promise.all(
    [...text.matchAll(/from '\.\.\/store\/sqlite\/([\w/-]+\.ts)'/g)].map(([, name = '']) => import(join(ENGINE, name))),
  )
  const all = [...registryOf(modules).keys()]
  expect(all.length).toBeGreaterThan(10)
  expect([...registryOf(registered).keys()].toSorted()).toEqual(all.toSorted())
  for (const [, name = ''] of text.matchAll(/import \* as (\w+)/g)) expect(text).toContain(name)
  const [, listed = ''] = /registryOf\(\[([^\]]*)\]\)/.exec(text) ?? []
  expect(listed.split(',').filter((name) => name.trim() !== '')).toHaveLength(text.match(/import \* as/g)?.length ?? 0)
})
