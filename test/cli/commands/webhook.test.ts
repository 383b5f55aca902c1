import { afterAll, beforeAll, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { startReceiver } from '../../help/receiver.ts'

const folder = emptyFolder()
const cwd = folder.path
const receiver = startReceiver()
let app: RunningApp

beforeAll(async () => {
  app = await startServe({ cwd, args: ['--allow-net', 'loopback'] })
  const token = await newToken(app, 'a@example.com')
  await run(['user', 'add', '--email', 'o@example.com', '--name', 'O', '--account', 'other'], { cwd, stdin: '123456' })
  await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
})
afterAll(async () => {
  await app.stop()
  receiver.stop()
  folder[Symbol.dispose]()
})

const send = (...more: string[]) => run(['webhook', 'test', receiver.url, ...more], { cwd })

test('one signed request is sent beside a running service, with its settings, marked as a test', async () => {
  const { code, stdout } = await send()
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^200\t\d+ ms\tok\n$/)])
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({ data: { name: 'test', account: 'default' } })
})

test("a receiver's answer is shown in one line, and cannot move the reader's cursor", async () => {
  receiver.answerWith(() => new Response('\u001b[2Jgone\n\u202e\n'))
  const { stdout } = await send('--allow-net', 'loopback')
  expect(stdout).toMatch(/^200\t\d+ ms\t\?\[2Jgone \?\n$/)
})

test.each([
  ['a network that is none is exit code 2', ['--allow-net', 'x'], 2, /--allow-net \(HOOKSWITCH_ALLOW_NET\) has "x"/],
  ['a proxy that is none is exit code 2', ['--proxy', 'x:1'], 2, /--proxy \(HOOKSWITCH_PROXY\)/],
  ['an unknown account is exit code 1', ['--account', 'x'], 1, /no account x/],
  ['a URL of another list is exit code 1', ['--account', 'other'], 1, /is not in the list of account other/],
] as const)('%s', async (_, more, code, message) => {
  const ran = await send(...more)
  expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: '' })
  expect(ran.stderr).toMatch(message)
})
