import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { acts, startAsterisk } from '../../help/asterisk-load.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startReceiver, until } from '../../help/receiver.ts'

const MINE = {
  name: 'mine',
  title: 'Mine',
  steps: [{ name: 'note', on: ['call_ended'], url: '/noted', body: '{"id": "{{ data.call.id }}"}' }],
}

describe.skipIf(POSTGRES_MISSING !== undefined)('with a preset that one of two nodes has', () => {
  test('that node sends for the account that uses it; without it deliveries wait, and nodes and doctor say why', async () => {
    await using cleaning = new AsyncDisposableStack()
    const folder = cleaning.use(emptyFolder())
    const presets = cleaning.use(emptyFolder())
    const database = cleaning.use(await migratedDatabase())
    const receiver = cleaning.adopt(startReceiver(), ({ stop }) => stop())
    const pbx = cleaning.adopt(startAsterisk(), ({ stop }) => stop())
    writeFileSync(join(presets.path, 'mine.json'), JSON.stringify(MINE))
    const store = ['--database-url', database.url]
    const pbxUrl = `ami://any:any@127.0.0.1:${pbx.port}?name=office`
    const start = async (...more: string[]) => {
      const args = ['--allow-net', 'loopback', '--log-level', 'warn', '--pbx', pbxUrl, ...store, ...more]
      return cleaning.adopt(await startServe({ cwd: folder.path, args }), async (node) => void (await node.stop()))
    }
    const command = async (...args: string[]) => (await run([...args, ...store], { cwd: folder.path })).stdout
    /** It also connects to the PBX, which from then on sends to the next node that connects. */
    const doctor = () => command('doctor', '--listen', '127.0.0.1:0')
    const isOwner = async ({ url }: { url: string }) => {
      const list: { address: string; accounts: string[]; pbx_states: { state: string }[] }[] = JSON.parse(
        await command('nodes', '--json'),
      )
      const node = list.find(({ address }) => address === url)
      return node?.accounts.includes('default') === true && node.pbx_states[0]?.state === 'up'
    }
    let calls = 0
    const call = () => {
      pbx.send(
        acts(calls)
          .map(({ bytes }) => bytes)
          .join(''),
      )
      calls += 1
    }

    const without = await start()
    const token = await newToken(without, 'a@example.com', { store })
    await until('the first node owns the account', () => isOwner(without))
    const first = await start('--presets', presets.path)
    const crm = `${receiver.url}/crm`
    expect((await ask(first, 'PUT', '/integration/webhook', { token, body: [webhook(crm)] })).status).toBe(200)
    const body = { url: crm, flow: { preset: 'mine', parameters: {} } }
    expect((await ask(first, 'PUT', '/integration/webhook/options', { token, body })).status).toBe(200)
    await until('the node with the preset owns it', () => isOwner(first))
    const lacks = `${without.url} lacks the preset mine: nodes that have it send for the accounts that use it`
    expect((await command('nodes')).split('\n')).toContain(lacks)
    call()
    await until('a call is noted', () => receiver.received.length > 0)
    const problemAt = async (node: { url: string }) => {
      const { body: answer } = await ask(node, 'GET', '/integration/webhook/options', { token })
      return Reflect.get(Object(answer.result), '0').problem
    }
    expect([await problemAt(first), await problemAt(without)]).toEqual([undefined, undefined])
    expect(await doctor()).toContain(lacks)

    expect(await first.stop()).toBe(0)
    await until('the node without it takes the account', () => isOwner(without))
    const pending = async (): Promise<number> =>
      JSON.parse(await command('delivery', 'list', '--state', 'pending', '--json')).items.length
    call()
    await until('a delivery waits', async () => (await pending()) > 0)
    expect(await problemAt(without)).toMatchObject({ message: expect.stringContaining('there is no preset mine here') })
    const before = receiver.received.length
    expect(await doctor()).toContain('nobody has the preset mine of account default: its deliveries wait')

    const second = await start('--presets', presets.path)
    await until('that node owns the account', () => isOwner(second))
    await until('all are noted', async () => (await pending()) === 0)
    expect(receiver.received.length).toBeGreaterThan(before)
    expect(await isOwner(without)).toBe(false)
    expect(await doctor()).not.toContain('nobody has the preset')
  })
})
