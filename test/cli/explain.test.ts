import { afterAll, describe, expect, test } from 'bun:test'
import { emptyFolder, run } from '../help/app.ts'
import { fixture } from '../help/pbx.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(() => folder[Symbol.dispose]())

describe('hookswitch pbx explain', () => {
  test('prints each call event with the raw event that caused it', async () => {
    const { code, stdout, stderr } = await run(['pbx', 'explain', fixture('h-ring-group.ami')], { cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /0\.960 s +call_started +15551230001 calls 15550100103 \(inbound\)\n +by Newchannel .* at h-ring-group\.ami:25 \(byte 535\)/,
    )
    expect(stdout).toMatch(/250 ms after Hangup/)
    expect(stdout).toMatch(/Asterisk \(AMI\): 11 events of 1 call from/)
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
      cause: { name: 'CHANNEL_CREATE', line: 9, offset: 156 },
    })
  })

  test.each([
    ['a file that is not there', 'none.ami', /cannot read none\.ami/],
    ['a folder', '.', /cannot read \./],
    ['no recording', import.meta.path, /no event that a PBX sent/],
  ])('%s is exit code 1, in one line', async (_, file, message) => {
    const { code, stderr } = await run(['pbx', 'explain', file], { cwd })
    expect({ code, lines: stderr.trim().split('\n').length }).toEqual({ code: 1, lines: 1 })
    expect(stderr).toMatch(message)
  })
})
