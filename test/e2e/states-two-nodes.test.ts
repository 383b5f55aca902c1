import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, type RunningApp, run, startServe } from '../help/app.ts'
import { ask, logIn, PASSWORD } from '../help/client.ts'
import { startListedAsterisk } from '../help/listed-asterisk.ts'
import { emptyDatabase, POSTGRES_MISSING } from '../help/postgres.ts'
import { until } from '../help/receiver.ts'

type Node = { address: string; pbxs: string[] }

describe.skipIf(POSTGRES_MISSING !== undefined)(
  'phones, trunks, agents and queues of two nodes on one Postgres',
  () => {
    test('are shown by any node, and told once by the node that takes over', async () => {
      using folder = emptyFolder()
      await using database = await emptyDatabase()
      writeFileSync(join(folder.path, 'database-url'), database.url)
      const env = { HOOKSWITCH_DATABASE_URL_FILE: join(folder.path, 'database-url') }
      const pbx = startListedAsterisk()
      const add = 'user add --admin --email admin@example.com --name Admin'
      await run(add.split(' '), { cwd: folder.path, env, stdin: PASSWORD })
      const nodes = [await startServe({ cwd: folder.path, env }), await startServe({ cwd: folder.path, env })] as const
      const token = await logIn(nodes[0], 'admin@example.com')
      const read = async (node: RunningApp, path: string) =>
        (await ask(node, 'GET', path, { token })).body.result as Record<string, unknown>[]
      const put = async (path: string, body: object) =>
        expect((await ask(nodes[0], 'PUT', path, { token, body })).status).toBe(200)
      const url = 'https://wall.example.com/'
      const off = { call_started: false, call_ended: false, dial_started: false, dial_answered: false }
      await put('/integration/webhook', [
        { url, ...off, dial_ended: false, call_transferred: false, call_saved: false },
      ])
      await put('/integration/webhook/options', { url, events: ['phone_changed', 'agent_changed'] })
      await put('/pbx/office', { url: `ami://any:any@127.0.0.1:${pbx.port}?account=default&trunks=carrier` })

      for (const node of nodes)
        await until('the queue is shown', async () => (await read(node, '/queue')).some(({ waiting }) => waiting === 1))
      for (const path of ['/phone', '/trunk', '/agent']) {
        const both = async () => [await read(nodes[0], path), await read(nodes[1], path)] as const
        // The node that does not watch the PBX shows a change within a second.
        await until('both show the same', async () => Bun.deepEquals(...(await both())))
        expect((await both())[0].length).toBeGreaterThan(0)
      }

      for (const node of nodes)
        await until('it rings', async () => {
          // Sent again: the PBX may just be moving to the node of its account, and its lists never show that it rings.
          pbx.send('Event: DeviceStateChange\nPrivilege: call,all\nDevice: PJSIP/101\nState: RINGING')
          return (await read(node, '/phone')).some(({ device }) => device === 'ringing')
        })

      const { stdout } = await run(['nodes', '--json'], { cwd: folder.path, env })
      const owners: Node[] = JSON.parse(stdout)
      const owner = owners.find(({ pbxs }) => pbxs.includes('office'))?.address ?? ''
      const [dying, taking] = nodes[0].url.endsWith(owner.split(':').at(-1) ?? '?') ? nodes : [nodes[1], nodes[0]]
      await dying.stop('SIGKILL')
      // The PBX's lists show it as idle: the difference is emitted, marked as found by lists.
      const eventsOf = async () => {
        const { items } = (await ask(taking, 'GET', '/event?limit=100', { token })).body.result as {
          items: { event: string; body: { data: { resync: boolean; phone: { device: string } } } }[]
        }
        return items.map(({ event, body: { data } }) => `${event} ${data.phone.device} ${data.resync}`)
      }
      await until('the difference is told', async () => (await eventsOf()).length === 2)
      // While the PBX moved, the first change was found after a list, too.
      expect(await eventsOf()).toEqual([expect.stringMatching('phone_changed ringing '), 'phone_changed idle true'])
      expect(await read(taking, '/agent')).toMatchObject([{ extension: '101', state: 'paused', reason: 'lunch' }])
      await taking.stop()
      pbx.stop()
    })
  },
)
