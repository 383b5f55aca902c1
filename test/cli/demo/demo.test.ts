import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newChecklist } from '../../../src/cli/demo/checklist.ts'
import { ownName } from '../../../src/cli/demo/next-steps.ts'
import { PLAYED } from '../../../src/cli/demo/recordings.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { newSecret, signerOf } from '../../../src/outbound/signature.ts'
import { emptyFolder, run } from '../../help/app.ts'
import { FIXTURES } from '../../help/recording.ts'

describe('hookswitch demo', () => {
  test('shows both calls, every event signed, prints what to do next, and leaves nothing behind', async () => {
    using folder = emptyFolder()
    const { code, stdout, stderr } = await run(['demo', '--once'], {
      cwd: folder.path,
      env: { TMPDIR: folder.path },
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/✓ signed/g)).toHaveLength(PLAYED.flatMap(({ expected }) => expected).length)
    for (const line of [
      /Phone 102 answered 15551230001 after \d s of ringing/,
      /call_blind_transferred +1001 transferred 79161234567 to 1002/,
      /Every event of both calls arrived/,
      /read = system,call,agent,dialplan,cdr/,
      /export HOOKSWITCH_PBX_FILE=.*\n +hookswitch pbx check\n +hookswitch pbx add\n/,
    ])
      expect(stdout).toMatch(line)
    expect(stdout).not.toContain('\x1b')
    expect([...new Bun.Glob('**').scanSync({ cwd: folder.path, onlyFiles: false })]).toEqual([])
  })

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

describe('the ledger', () => {
  const secret = newSecret()
  const request = (body: string, by = secret) => {
    const timestampS = Math.floor(Date.now() / 1_000)
    const headers = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(timestampS),
      'webhook-signature': signerOf([by])('msg_1', timestampS, body),
    }
    return { method: 'POST', path: '/crm', headers, body, atMs: Date.now() }
  }
  const [first] = EXAMPLES.map((example) => JSON.stringify(example))

  test.each<[string, ReturnType<typeof request>[], string | undefined]>([
    ['takes what is right', [request(first ?? '')], undefined],
    ['sees what comes twice', [request(first ?? ''), request(first ?? '')], 'sequence is 1, expected 2'],
    ['sees another signature', [request(first ?? '', newSecret())], 'no signature matches the secret'],
    ['sees what is no event', [request('{}')], 'the body is not a call event'],
  ])('%s', (_, requests, fault) => {
    const ledger = newChecklist()
    expect(requests.map((one) => ledger.enter(one, secret)).at(-1)?.fault).toBe(fault)
    expect(ledger.missing([])).toEqual(fault === undefined ? [] : [fault])
  })

  test('names missing events, and waits no longer than allowed', async () => {
    const ledger = newChecklist()
    for (const played of PLAYED) {
      await ledger.complete(played, 1)
      expect(ledger.missing([played])).toHaveLength(played.expected.length)
      expect(ledger.missing([played])).toContain(`call_saved of ${played.pbx} did not arrive`)
    }
  })
})
