import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  existsSync,
  lchownSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, run } from '../../help/app.ts'

// `hookswitch pbx setup` on files of a PBX, which is replayed from a recording of a real one.

const RECORDING = resolve(import.meta.dir, '../../../src/cli/demo/ring-group.ami')

describe('pbx setup', () => {
  const folder = emptyFolder()
  const etc = join(folder.path, 'etc')
  const manager = join(etc, 'manager.conf')
  const custom = join(etc, 'manager_custom.conf')
  let replay: ReturnType<typeof startReplay>
  beforeAll(() => {
    replay = startReplay({ files: [RECORDING], hostname: '127.0.0.1', port: 0, speed: 1 })
    mkdirSync(etc)
    writeFileSync(manager, `[general]\nenabled = yes\nport = ${replay.port}\n#include manager_custom.conf\n`)
    writeFileSync(custom, '; mine, without a line end', { mode: 0o640 })
  })
  afterAll(async () => {
    await replay.stop()
    folder[Symbol.dispose]()
  })
  const setup = (...args: string[]) => run(['pbx', 'setup', '--config', etc, ...args], { cwd: folder.path })
  const pbxs = async () => JSON.parse((await run(['pbx', 'list', '--json'], { cwd: folder.path })).stdout || '[]')

  test('shows its changes without the secret, and makes none without a yes', async () => {
    for (const [args, code] of [
      [['--dry-run'], 0],
      [[], 2],
    ] as const) {
      const shown = await setup(...args)
      expect(shown.code).toBe(code)
      expect(shown.stdout).toContain(`FreePBX, configured in ${etc}\n${custom} (appended; its content stays):\n`)
      expect(shown.stdout).toContain('  + secret = ***\n  + deny = 0.0.0.0/0.0.0.0\n')
    }
    expect(readFileSync(custom, 'utf8')).toBe('; mine, without a line end')
    expect(existsSync(join(folder.path, 'data'))).toBe(false)
  })

  test('takes a folder relative to where it is run', async () => {
    const shown = await run(['pbx', 'setup', '--config', 'etc', '--dry-run'], { cwd: folder.path })
    expect(shown.stdout).toContain(`FreePBX, configured in ${etc}\n`)
  })

  test('writes its lines, adds the PBX and checks it; the same again changes nothing', async () => {
    const done = await setup('--yes', '--name', 'main')
    const text = readFileSync(custom, 'utf8')
    const secret = /^secret = ([0-9a-f]{36})$/m.exec(text)?.[1]
    expect(text).toStartWith('; mine, without a line end\n; hookswitch begin')
    expect(statSync(custom).mode & 0o777).toBe(0o640)
    expect(done.stdout).not.toContain(secret ?? 'no secret')
    expect(done.stdout).toContain('ok       the user hookswitch may log in')
    expect(await pbxs()).toMatchObject([
      { name: 'main', url: expect.stringContaining('ami://hookswitch:***@127.0.0.1:') },
    ])
    const again = await setup('--yes', '--name', 'main')
    expect(again.stdout).toContain('The files need no change.')
    expect(readFileSync(custom, 'utf8')).toBe(text)
  })

  test('ends with the next step where the check finds no fault', async () => {
    const bin = join(folder.path, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'asterisk'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })
    const env = { PATH: `${bin}:${process.env.PATH}` }
    const done = await run(['pbx', 'setup', '--config', etc, '--yes', '--name', 'main'], { cwd: folder.path, env })
    expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: '' })
    expect(done.stdout).toMatch(
      /\nNext: hookswitch user add --admin .*\nThen: hookswitch serve\nThen: log in to the page/,
    )
  })

  test('takes everything back', async () => {
    const undone = await setup('--undo', '--yes')
    expect(undone.stdout).toContain('hookswitch pbx remove main')
    expect(readFileSync(custom, 'utf8')).toBe('; mine, without a line end')
    expect(existsSync(join(etc, 'hookswitch-setup.json'))).toBe(false)
    expect(await pbxs()).toEqual([])
    const twice = await setup('--undo', '--yes')
    expect(twice).toMatchObject({ code: 1, stderr: expect.stringContaining('there is nothing to undo') })
  })

  describe('the folder may belong to the user of the PBX', () => {
    const record = join(etc, 'hookswitch-setup.json')
    const own = { name: 'main', files: [{ path: custom, isNew: false }], joined: null, reload: [] as string[][] }
    const harm = join(folder.path, 'harm')
    test.each<[string, unknown]>([
      ['a command', { ...own, reload: [['touch', harm]] }],
      ['a command with more', { ...own, reload: [['asterisk', '-rx', 'manager reload', harm]] }],
      ['another configuration', { ...own, reload: [['asterisk', '-C', harm, '-rx', 'manager reload']] }],
      ['a file elsewhere', { ...own, files: [{ path: join(etc, '../other.conf'), isNew: true }] }],
      ['another user', { ...own, joined: { user: 'root', group: 'root' } }],
      ['an option in place of a group', { ...own, joined: { user: 'hookswitch', group: '-Q' } }],
      ['an option in place of a name', { ...own, name: '--all' }],
      ['no record', { name: 1 }],
      ['no JSON', undefined],
    ])('a record with %s is not believed', async (_, content) => {
      writeFileSync(record, content === undefined ? '{' : JSON.stringify(content))
      for (const args of [['--undo', '--yes'], ['--yes']]) {
        const { code, stderr } = await setup(...args)
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringContaining(`${record} has content that this program`),
        })
      }
      expect(existsSync(harm)).toBe(false)
      rmSync(record)
    })

    test.skipIf(process.getuid?.() !== 0)('a link of that user to a file of root is not written', async () => {
      const victim = join(folder.path, 'victim.conf')
      writeFileSync(victim, '; of root')
      renameSync(custom, `${custom}.kept`)
      symlinkSync(victim, custom)
      lchownSync(custom, 12_345, 12_345)
      const { code, stderr } = await setup('--yes', '--name', 'main')
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('belongs to another user') })
      expect(readFileSync(victim, 'utf8')).toBe('; of root')
      renameSync(`${custom}.kept`, custom)
      rmSync(record)
    })

    test('a link in the place of a new file is not followed', async () => {
      const victim = join(folder.path, 'victim')
      writeFileSync(victim, 'of root', { mode: 0o600 })
      for (const path of [record, custom]) symlinkSync(victim, `${path}.hookswitch-new`)
      await setup('--yes', '--name', 'main')
      expect([readFileSync(victim, 'utf8'), statSync(victim).mode & 0o777]).toEqual(['of root', 0o600])
      expect(readFileSync(custom, 'utf8')).toContain('hookswitch begin')
      expect((await setup('--undo', '--yes')).stdout).toContain('hookswitch pbx remove main')
    })
  })

  test.each([
    [['--config', '/nowhere'], 1, /has neither manager.conf nor/],
    [['--customers', 'file.csv'], 2, /--customers is only for FusionPBX/],
    [['--user', 'a b'], 2, /--user is "a b"/],
  ])('%p is refused', async (args, code, reason) => {
    const { code: found, stderr } = await run(['pbx', 'setup', '--config', etc, ...args], { cwd: folder.path })
    expect({ code: found, stderr }).toEqual({ code, stderr: expect.stringMatching(reason) })
  })
})
