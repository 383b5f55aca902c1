import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ownName } from '../../src/cli/demo/next.ts'
import { PLAYED } from '../../src/cli/demo/recordings.ts'
import { newStory } from '../../src/cli/demo/story.ts'
import { emptyFolder, run } from '../help/app.ts'
import { FIXTURES } from '../help/recording.ts'

describe('hookswitch demo', () => {
  test('tells both calls, every event signed, says what to do next, and leaves nothing behind', async () => {
    using folder = emptyFolder()
    const { code, stdout, stderr } = await run(['demo', '--once'], {
      cwd: folder.path,
      env: { TMPDIR: folder.path },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/✓ signed/g)).toHaveLength(PLAYED.flatMap(({ expected }) => expected).length)
    for (const line of [
      /102 \(Phone 102\) answers, after \d s of ringing/,
      /call_blind_transferred +1001 transfers 79161234567 to 1002/,
      /Every event of both calls arrived/,
      /read = system,call,agent,dialplan,cdr,user/,
      /hookswitch serve --pbx/,
    ])
      expect(stdout).toMatch(line)
    expect(stdout).not.toContain('\x1b')
    expect([...new Bun.Glob('**').scanSync({ cwd: folder.path, onlyFiles: false })]).toEqual([])
  }, 60_000)

  test.each([
    ['asterisk/h-ring-group.ami', 0],
    ['freeswitch/recorded-transfer.esl', 1],
  ] as const)('plays %s byte for byte', (name, index) => {
    expect(PLAYED[index]?.recording.bytes).toEqual(readFileSync(join(FIXTURES, name)))
  })
})

test.each([
  [['bun', '/$bunfs/root/hookswitch'], '/usr/local/bin/hookswitch', 'hookswitch'],
  [['bun', '/clone/src/main.ts'], '/usr/local/bin/bun', 'bun src/main.ts'],
  [['bun', '/clone/src/main.ts'], '/root/.npm/_npx/1/node_modules/bun/bin/bun.exe', 'npx -y bun@1.4.5 src/main.ts'],
])('%j is called as it was', (argv, execPath, name) => expect(ownName(argv, execPath)).toBe(name))

test('a story says what is missing, and what is no event of ours', () => {
  const lines: string[] = []
  const story = newStory({ paint: (_, text) => text, bodies: false, print: (line) => lines.push(line) })
  story.received({ method: 'POST', path: '/crm', headers: {}, body: '{}', atMs: 0 })
  expect(lines.join()).toContain('no call event')
  const [first] = PLAYED
  if (first === undefined) throw new Error('no recording')
  const missing = story.missing(first)
  expect(missing).toHaveLength(first.expected.length + 1)
  expect(missing).toContain('call_saved of office did not arrive')
})
