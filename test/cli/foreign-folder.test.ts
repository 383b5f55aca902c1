import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run, startServe } from '../help/app.ts'

/**
 * A working directory in which another user may write: the executable must not read the files that Bun itself would
 * read there.
 */

const folder = emptyFolder()
const cwd = folder.path
const trace = join(cwd, 'trace')

beforeAll(() => {
  const leaveTrace = `require('node:fs').writeFileSync(${JSON.stringify(trace)}, 'it ran')`
  const preload = 'preload = ["./preload.ts"]\n'
  const files: Readonly<Record<string, string>> = {
    'bunfig.toml': `${preload}[run]\n${preload}[test]\n${preload}`,
    'preload.ts': leaveTrace,
    'index.ts': leaveTrace,
    'package.json': JSON.stringify({ name: 'theirs', main: './preload.ts', scripts: { serve: 'echo theirs' } }),
    'tsconfig.json': JSON.stringify({ compilerOptions: { paths: { commander: ['./preload.ts'] } } }),
    ...Object.fromEntries(
      ['.env', '.env.local', '.env.production', '.env.development'].map((name) => [name, 'HOOKSWITCH_DATA=theirs\n']),
    ),
  }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content)
})
afterAll(() => folder[Symbol.dispose]())

describe('the executable in a folder of another user', () => {
  test.each([[['version']], [['user', 'list']], [['pbx', 'check', 'esl://:x@127.0.0.1:1']]])(
    '%j runs nothing that is in it',
    async (args) => {
      await run(args, { cwd })
      expect(existsSync(trace)).toBe(false)
    },
  )

  test('reads its settings from no .env', async () => {
    expect((await run(['user', 'list'], { cwd })).stderr).toContain('no store at data')
  })

  test('makes its store where its settings name it', async () => {
    const { code } = await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], {
      cwd,
      stdin: 'long enough\n',
    })
    expect([code, existsSync(join(cwd, 'data/hookswitch.db')), existsSync(join(cwd, 'theirs'))]).toEqual([
      0,
      true,
      false,
    ])
  })

  test('serves with the data folder that it was given, and runs nothing', async () => {
    const app = await startServe({ cwd })
    expect((await fetch(`${app.url}/health`)).status).toBe(200)
    expect(await app.stop()).toBe(0)
    expect([existsSync(trace), existsSync(join(cwd, 'theirs'))]).toEqual([false, false])
  })
})
