import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run } from '../../help/app.ts'
import { addUser } from '../../help/client.ts'

/** The commands that change an account's list and options, on a store without a service. */

const folder = emptyFolder()
const cwd = folder.path
const URL = 'https://crm.example.com/calls'

beforeAll(() => addUser(cwd, 'a@example.com'))
afterAll(() => folder[Symbol.dispose]())

async function webhook(...args: string[]) {
  const { code, stdout, stderr } = await run(['webhook', ...args], { cwd })
  return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() }
}
const listed = async () => JSON.parse((await webhook('list', '--json')).stdout)

test('a webhook is added, listed, changed, previewed and removed', async () => {
  const none = await webhook('list')
  expect([none.stdout, none.stderr]).toEqual(['', expect.stringContaining('hookswitch webhook add URL adds one')])
  const added = await webhook('add', URL, '--events', 'call_started,call_missed')
  expect([added.code, added.stdout]).toEqual([
    0,
    expect.stringMatching(/^added https:\/\/crm\.example\.com\/calls\nits requests are signed with whsec_\S{44}$/),
  ])
  await webhook('add', 'https://other.example/')
  expect((await webhook('list')).stdout.split('\n')).toEqual([
    'URL                            NAME  STATE   PENDING  EVENTS                    OPTIONS',
    `${URL}  -     active  0        call_started,call_missed  -`,
    'https://other.example/         -     active  0        all                       -',
  ])

  const filter = '{"direction":["inbound"],"queue":["sales*"]}'
  writeFileSync(join(cwd, 'headers'), 'X-Api-Key: secret\n\nX-Other:  two words \n')
  const flags = ['--name', 'CRM', '--paused', '--filter', filter, '--headers', 'headers', '--order', 'strict']
  expect((await webhook('set', URL, ...flags, '--max-per-second', '2.5', '--preset', 'flat')).code).toBe(0)
  const [{ options }] = await listed()
  expect(options).toEqual({
    url: URL,
    name: 'CRM',
    paused: true,
    filter: { direction: ['inbound'], queue: ['sales*'] },
    headers: { 'X-Api-Key': null, 'X-Other': null },
    order: 'strict',
    retain: false,
    discovery: null,
    flow: null,
    authorization: null,
    tls: null,
    share_pace: false,
    max_per_second: 2.5,
    body: { preset: 'flat', parameters: {} },
    events: ['call_missed'],
  })
  expect((await webhook('list')).stdout).toContain(
    `${URL}  CRM   paused  0        call_started,call_missed  filter={"direction":["inbound"],"queue":["sales*"]} ` +
      'order=strict max_per_second=2.5 body=flat headers=X-Api-Key,X-Other',
  )
  const preview = await webhook('preview', URL, '--event', 'dial_answered')
  expect(preview.stdout).toContain(
    'Content-Type: application/json\n{"time":"2026-11-20T21:51:42.104118Z","event":"dial_answered",',
  )
  const [first = ''] = preview.stdout.split('\n')
  expect(first).toStartWith('this event is not sent to this webhook, because')
  expect(first).toContain('dial_answered')
  const wanted = await webhook('preview', URL, '--event', 'call_started')
  expect(wanted.stdout).not.toContain('is not sent')

  // Fields without a flag keep their values; an empty text resets a field to its default.
  await webhook('set', URL, '--no-paused', '--filter', '', '--events', 'all', '--default-body')
  const [after] = await listed()
  expect(after).toMatchObject({
    call_saved: true,
    options: { name: 'CRM', paused: false, filter: null, events: [], body: null },
  })
  expect(Object.keys(after.options.headers)).toEqual(['X-Api-Key', 'X-Other'])

  expect((await webhook('remove', URL)).stdout).toStartWith(`removed ${URL}`)
  expect((await listed()).map(({ url }: { url: string }) => url)).toEqual(['https://other.example/'])
})

test('a URL is added once, and a change without a change is refused', async () => {
  const url = 'https://once.example/'
  await webhook('add', url)
  expect(await webhook('add', url)).toEqual({
    code: 1,
    stdout: '',
    stderr: `hookswitch: ${url} is already in the list of account default: hookswitch webhook set changes it`,
  })
  const refused = await webhook('set', url)
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('there is nothing to change: give')])
  expect((await webhook('set', url, '--no-paused')).code).toBe(0)
  await webhook('remove', url)
})

test('a template comes from a file, and is tried when it is set', async () => {
  const url = 'https://template.example/'
  await webhook('add', url)
  writeFileSync(
    join(cwd, 'good.liquid'),
    '{% if data.name == "call_ended" %}{"who":{{ data.call.from.name | json }}}{% endif %}',
  )
  writeFileSync(join(cwd, 'bad.liquid'), 'a\n{% if %}')
  expect((await webhook('set', url, '--template', 'good.liquid')).code).toBe(0)
  expect((await webhook('preview', url, '--event', 'call_ended')).stdout).toEndWith('{"who":"Carla Caller"}')
  expect((await webhook('preview', url)).stdout).toEndWith('this event is not sent: its template result is empty')
  const refused = await webhook('set', url, '--template', 'bad.liquid')
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/^hookswitch: body\.template: line 2, column \d+: /),
  ])
})

test('a secret is printed, and rotated', async () => {
  const url = 'https://secret.example/'
  await webhook('add', url)
  const before = (await webhook('secret', url)).stdout
  expect(before).toMatch(/^whsec_\S{44}$/)
  const after = (await webhook('secret', url, '--rotate')).stdout
  expect([after === before, (await webhook('secret', url)).stdout]).toEqual([false, after])
  expect((await webhook('secret', url, '--rotate')).stderr).toContain('or give --force to end it now')
  expect((await webhook('secret', url, '--rotate', '--force')).code).toBe(0)
})

test.each([
  [['add', 'ftp://x.example/'], 2, /url must be an absolute http:, https:, mqtt: or mqtts: URL/],
  [['add', 'x.example/calls'], 2, /url must be an absolute .*: add https:\/\/ in front/],
  [['add', 'https://x.example/a b'], 2, /url has a space or a line break: write %20/],
  [['add', 'http://127.0.0.1/'], 2, /url: 127\.0\.0\.1 is a loopback address: .* --allow-net loopback/],
  [['add', 'https://x.example/', '--events', 'call'], 2, /--events has "call": give all, or some of call_started, /],
  [['set', 'https://nowhere.example/', '--paused'], 1, /is not in the list of account default/],
  [['remove', 'https://nowhere.example/'], 1, /is not in the list/],
  [['list', '--account', 'nobody'], 1, /there is no account nobody/],
  [['set', 'https://other.example/', '--filter', '{'], 2, /--filter is no JSON/],
  [
    ['set', 'https://other.example/', '--filter', '{"direction":["incoming"]}'],
    2,
    /direction incoming matches no event: use inbound, outbound, internal/,
  ],
  [['set', 'https://other.example/', '--filter', '{"colour":["red"]}'], 2, /filter\.colour is an unknown field/],
  [['set', 'https://other.example/', '--max-per-second', '0'], 2, /max_per_second must be 0\.1 at least/],
  [
    ['set', 'https://other.example/', '--preset', 'telegram'],
    2,
    /body\.parameters\.chat_id is missing: The chat to write to/,
  ],
  [['set', 'https://other.example/', '--template', 'nothing.liquid'], 2, /--template: cannot read nothing\.liquid/],
])('%j ends with exit code %i', async (args, code, message) => {
  const ran = await webhook(...args)
  expect(ran.code).toBe(code)
  expect(ran.stderr).toMatch(message)
})

test('the password of a broker is not shown, its topic is readable, and retained messages of calls are warned of', async () => {
  const url = 'mqtts://hookswitch:t0p-secret@broker.example/calls/%7Bevent%7D'
  const shown = 'mqtts://***@broker.example/calls/{event}'
  expect((await webhook('add', url)).stdout).toStartWith(`added ${shown}`)
  const set = await webhook('set', url, '--retain')
  expect(set.stderr).toMatch(/^note: with retain and \{event\} in the topic the broker keeps messages/)
  const { stdout } = await webhook('list')
  expect(stdout).toContain(shown)
  const again = await webhook('add', url)
  const removed = await webhook('remove', url)
  expect(removed.stdout).toStartWith(`removed ${shown}`)
  // The options of a URL are kept, and apply again.
  const back = await webhook('add', url)
  expect(back.stderr).toContain('note: with retain and {event}')
  expect(JSON.stringify([set, stdout, again, removed, back])).not.toContain('t0p-secret')
  expect((await listed()).some((one: { url: string }) => one.url === url)).toBe(true)
  await webhook('remove', url)
})
