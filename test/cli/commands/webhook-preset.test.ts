import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allPresets } from '../../../src/flows/presets/catalog.ts'
import { emptyFolder, run } from '../../help/app.ts'
import { addUser } from '../../help/client.ts'
import { startAmocrm } from '../../help/crm/amocrm.ts'
import { fileOf } from '../../help/recording.ts'

/** The way to a CRM on the command line, against its stub. */

const folder = emptyFolder()
const cwd = folder.path
const crm = startAmocrm()
const LOOPBACK = ['--allow-net', 'loopback']

beforeAll(() => addUser(cwd, 'a@example.com'))
afterAll(() => {
  crm.stop()
  folder[Symbol.dispose]()
})

async function webhook(...args: string[]) {
  const { code, stdout, stderr } = await run(['webhook', ...args], { cwd })
  return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() }
}

test('the presets and their parameters are listed', async () => {
  const { stdout } = await webhook('preset')
  expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual([
    'NAME',
    ...allPresets().map(({ name }) => name),
  ])
  expect((await webhook('preset', 'amocrm')).stdout).toMatch(/token +secret +yes/)
  expect(JSON.parse((await webhook('preset', 'amocrm', '--json')).stdout)).toMatchObject({
    name: 'amocrm',
    lookup: true,
  })
  expect((await webhook('preset', 'nonsense')).stderr).toContain('hookswitch webhook preset lists them')
})

test('a preset is checked and lists its users before it is saved', async () => {
  const flow = join(cwd, 'unsaved.json')
  writeFileSync(flow, JSON.stringify({ preset: 'amocrm', parameters: { ...crm.parameters } }))
  expect((await webhook('check', crm.url, '--flow', flow, ...LOOPBACK)).stdout).toStartWith('200\t')
  expect((await webhook('users', crm.url, '--flow', flow, ...LOOPBACK)).stdout).toContain('504141  Anna Smith')
  expect((await webhook('list')).stdout).not.toContain(crm.url)
  writeFileSync(flow, '{"steps":[{"name":"one","on":["call_ended"]}]}')
  expect((await webhook('check', crm.url, '--flow', flow, ...LOOPBACK)).stderr).toContain('has no preset')
})

test('a preset in a file is checked, and lists its users, without a store', async () => {
  using empty = emptyFolder()
  const flow = join(empty.path, 'crm.json')
  const ask = (command: string) => run(['webhook', command, crm.url, '--flow', flow, ...LOOPBACK], { cwd: empty.path })
  writeFileSync(flow, JSON.stringify({ preset: 'amocrm', parameters: { ...crm.parameters } }))
  expect((await ask('check')).stdout).toStartWith('200\t')
  expect((await ask('users')).stdout).toContain('504141  Anna Smith')
  writeFileSync(flow, JSON.stringify({ preset: 'amocrm', parameters: { ...crm.parameters, token: null } }))
  expect((await ask('check')).stderr).toContain('has no stored value that null could keep')
  writeFileSync(flow, '{"steps":[{"name":"one","on":["call_ended"]}]}')
  expect((await ask('check')).stderr).toContain('has no preset')
  expect(readdirSync(empty.path)).toEqual(['crm.json'])
})

test('a preset is chosen, checked, filled in and previewed', async () => {
  await webhook('add', crm.url, '--events', 'call_ended', ...LOOPBACK)
  const flow = join(cwd, 'crm.json')
  const choose = (parameters: object) => {
    writeFileSync(flow, JSON.stringify({ preset: 'amocrm', parameters }))
    return webhook('set', crm.url, '--flow', flow)
  }
  expect((await webhook('check', crm.url, ...LOOPBACK)).stderr).toContain('has no preset of a CRM')
  expect((await choose({ responsible: '504150' })).stderr).toContain('token')
  expect((await choose({ token: 'wrong' })).stderr).toContain('switched on')
  const refused = await webhook('check', crm.url, ...LOOPBACK)
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('the CRM answered 401: Unauthorized')])
  await choose({ ...crm.parameters })
  expect((await webhook('check', crm.url, ...LOOPBACK)).stdout).toStartWith('200\t')
  expect((await webhook('users', crm.url, ...LOOPBACK)).stdout).toContain('504141  Anna Smith')

  const recording = fileOf('asterisk/ast13-freepbx-recorded')
  const preview = await webhook('preview', crm.url, '--recording', recording)
  expect(preview.stdout).toContain(`call_saved\tcall\tPOST\t${crm.url}/api/v4/calls`)
  expect(preview.stdout).toContain('documented answer: 200')
  expect(preview.stdout).not.toContain('long-lived')
  expect(
    JSON.parse((await webhook('preview', crm.url, '--recording', recording, '--json')).stdout).steps[0],
  ).toMatchObject({ step: 'card' })
  expect((await webhook('preview', crm.url, '--call', 'nonsense')).stderr).toContain(
    'no event of this call is stored: its id is wrong, or its events were deleted',
  )
  expect((await webhook('preview', crm.url, '--call', 'a', '--recording', recording)).code).toBe(2)
  expect(crm.calls()).toEqual([])
})

test('past events are counted and will be sent; a wrong time is refused', async () => {
  const none = await webhook('replay', crm.url, '--since', '7d')
  expect(none.stdout).toBe('No event of this time is to be sent: all were delivered, or are pending.')
  expect(JSON.parse((await webhook('replay', crm.url, '--since', '7d', '--json')).stdout)).toEqual({ queued: 0 })
  expect((await webhook('replay', crm.url, '--since', 'monday')).stderr).toContain('--since: monday is neither a time')
  expect((await webhook('replay', crm.url, '--since', '7d', '--events', 'phone_changed')).stderr).toContain(
    'no call event',
  )
  expect((await webhook('replay', 'https://other.example/', '--since', '7d')).stderr).toContain('is not in the list')
})
