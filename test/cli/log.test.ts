import { expect, test } from 'bun:test'
import { startReplay } from '../../src/pbx/replay/replay.ts'
import { emptyFolder, startServe } from '../help/app.ts'
import { ask, newToken, webhook } from '../help/client.ts'
import { fixture } from '../help/pbx.ts'
import { startReceiver, until } from '../help/receiver.ts'

test('a call can be followed by its id from the PBX to each receiver; its numbers are masked', async () => {
  using folder = emptyFolder()
  const receiver = startReceiver()
  const go = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 50, after: go.promise })
  const app = await startServe({
    cwd: folder.path,
    args: ['--pbx', `ami://u:s3cret@127.0.0.1:${replay.port}?name=office`, '--log-mask-numbers'],
    env: { HOOKSWITCH_ALLOW_NET: 'loopback', HOOKSWITCH_LOG_LEVEL: 'debug' },
  })
  const token = await newToken(app, 'anna@example.com')
  const list = [webhook(`http://u:passw0rd@127.0.0.1:${receiver.port}/one`), webhook(`${receiver.url}/two`)]
  await ask(app, 'PUT', '/integration/webhook', { token, body: list })
  go.resolve()
  await until('the call is told to both', () => receiver.received.length === 12)
  await app.stop()
  await replay.stop()
  await receiver.stop()

  const facts = app
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
  for (const { id, body } of receiver.received) {
    const { name, call } = JSON.parse(body).data
    expect(facts).toContainEqual(
      expect.objectContaining({ msg: 'told', event: id, call: call.id, name, pbx: 'office', from: '*********01' }),
    )
    for (const path of ['one', 'two'])
      expect(facts).toContainEqual(
        expect.objectContaining({
          msg: 'attempt',
          event: id,
          call: call.id,
          url: `${receiver.url}/${path}`,
          status: 200,
          state: 'delivered',
        }),
      )
  }
  expect(app.output()).not.toMatch(/15551230001|passw0rd|s3cret|whsec_|hks_/)
})
