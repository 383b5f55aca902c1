import { expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { emptyFolder, run } from '../help/app.ts'

/** The executable is started in folders that others can write to: nothing that lies there may change it. */
test('what lies in the working directory is neither run nor believed', async () => {
  using folder = emptyFolder()
  const at = (name: string) => join(folder.path, name)
  writeFileSync(at('preload.ts'), `require('node:fs').writeFileSync(${JSON.stringify(at('it-ran'))}, '')`)
  writeFileSync(at('bunfig.toml'), 'preload = ["./preload.ts"]\n[run]\npreload = ["./preload.ts"]\n')
  for (const name of ['.env', '.env.local', '.env.production'])
    writeFileSync(at(name), `HOOKSWITCH_DATA=${at('believed')}\n`)
  const { code, stdout, stderr } = await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], {
    cwd: folder.path,
    stdin: 'a long password\n',
  })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  expect(stdout).not.toBe('')
  expect(existsSync(at('it-ran'))).toBe(false)
  expect(existsSync(at('believed'))).toBe(false)
  expect(existsSync(at('data/hookswitch.db'))).toBe(true)
})

test('the licences of all that is inside are printed, also where there is no node_modules', async () => {
  using folder = emptyFolder()
  const { code, stdout } = await run(['licenses', '--json'], { cwd: folder.path })
  expect(code).toBe(0)
  const found: { name: string; terms: string }[] = JSON.parse(stdout)
  const names = found.map(({ name }) => name)
  expect(names).toContain('bun')
  for (const name of Object.keys(manifest.dependencies)) expect(names).toContain(name)
  for (const { name, terms } of found) expect([name, terms.length > 2]).toEqual([name, true])
  const plain = await run(['licenses'], { cwd: folder.path })
  for (const name of names) expect(plain.stdout).toContain(`\n${name} `)
})
