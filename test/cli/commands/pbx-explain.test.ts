import { afterAll, describe, expect, test } from 'bun:test'
import { emptyFolder, run } from '../../help/app.ts'
import { fixture } from '../../help/pbx.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(() => folder[Symbol.dispose]())

describe('hookswitch pbx explain', () => {
  test('prints each call event with the raw event that caused it', async () => {
    const { code, stdout, stderr } = await run(['pbx', 'explain', fixture('h-ring-group.ami')], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /0\.960 s +call_started +Inbound call from 15551230001 to 15550100103\n +by Newchannel .* at h-ring-group\.ami:25 \(byte 535\)/,
    )
    expect(stdout).toMatch(/250 ms after Hangup/)
    expect(stdout).toMatch(/\n +inbound: 15551230001 came in by a trunk\n/)
    expect(stdout).toMatch(/Asterisk \(AMI\): 11 events of 1 call from/)
  })

  test('prints the kinds of the endpoints, and the setting that decides about unknown ones', async () => {
    const { stdout } = await run(['pbx', 'explain', fixture('f-outbound-answered.ami')], { cwd })
    expect(stdout).toMatch(
      /\ntrunks: PJSIP\/trunk \(dialled with a number\)\nphones: PJSIP\/101 \(name of the context\)\n$/,
    )
    const set = await run(
      ['pbx', 'explain', fixture('f-outbound-answered.ami'), '--extensions', 'trunk', '--extensions', '1??'],
      {
        cwd,
      },
    )
    expect(set.stdout).toMatch(/call_started +Internal call from /)
    expect(set.stdout).toMatch(/phones: PJSIP\/101, PJSIP\/trunk \(named in the PBX URL\)/)
  })

  test('shows to which account each call belongs, on a PBX with several customers', async () => {
    const args = ['pbx', 'explain', fixture('queue.esl'), '--tenants']
    expect((await run([...args, 'domain'], { cwd })).stdout).toMatch(
      /^call 1 of pbx\.example\n.*\nCalls by account: pbx\.example \(1\)\.\n/s,
    )
    expect((await run([...args, 'variable:tenant'], { cwd })).stdout).toMatch(
      /\n1 call shows no customer: such calls go to the account in/,
    )
    const wrong = await run([...args, 'domains'], { cwd })
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/use tenants=domain, tenants=accountcode/)])
  })

  test('as JSON, a line an event', async () => {
    const { stdout } = await run(['pbx', 'explain', fixture('queue.esl'), '--json'], { cwd })
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(events).toHaveLength(9)
    expect(events[0]).toMatchObject({
      event: { data: { name: 'call_started', sequence: 1 } },
      reason: expect.stringMatching(/^inbound: /),
      cause: { name: 'CHANNEL_CREATE', line: 9, offset: 156 },
    })
  })

  test('goes on with the recording of the next connection, and names the file of each raw event', async () => {
    const files = ['reconnect-1.esl', 'reconnect-2.esl'].map(fixture)
    const { code, stdout, stderr } = await run(['pbx', 'explain', ...files], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/call_started .*\n.* by CHANNEL_CREATE .* at reconnect-1\.esl:/)
    expect(stdout).toMatch(/call_ended .*\n.* api\/response at reconnect-2\.esl:/)
    expect(stdout).toMatch(/of 3 calls from/)
    const { stdout: json } = await run(['pbx', 'explain', '--json', ...files], { cwd })
    const named = json.match(/"file":"[^"]+"/g)
    expect(new Set(named)).toEqual(new Set(['"file":"reconnect-1.esl"', '"file":"reconnect-2.esl"']))
  })

  test('recordings of two kinds of PBX are exit code 2, in one line that names the odd one', async () => {
    const files = ['h-ring-group.ami', 'queue.esl'].map(fixture)
    const { code, stderr } = await run(['pbx', 'explain', ...files], { cwd })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^.*queue\.esl is of another kind of PBX.*\n$/)
  })

  test.each([
    ['a file that is not there', 'none.ami', /cannot read none\.ami/],
    ['a folder', '.', /cannot read \./],
    ['no recording', import.meta.path, /no PBX event/],
  ])('%s is exit code 2, in one line', async (_, file, message) => {
    const { code, stderr } = await run(['pbx', 'explain', file], { cwd })
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 2, lines: 1 })
    expect(stderr).toMatch(message)
  })
})
