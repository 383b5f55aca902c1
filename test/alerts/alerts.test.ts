import { afterAll, describe, expect, test } from 'bun:test'
import { createAlerts } from '../../src/alerts/alert-messages.ts'
import { startPbxAlerts } from '../../src/alerts/pbx-alerts.ts'
import { createLog } from '../../src/lib/log.ts'
import { nowUs } from '../../src/lib/time.ts'
import type { PbxRecord } from '../../src/store/operations/pbxs.ts'
import { memoryOutages } from '../help/outages.ts'
import { startReceiver, until } from '../help/receiver.ts'

const log = createLog('silent')
const receiver = startReceiver()
afterAll(() => receiver.stop())
const bodies = () => receiver.received.map(({ body }) => JSON.parse(body))

describe('alerts', () => {
  test('are posted in order, again when the first try fails', async () => {
    receiver.received.length = 0
    let answers = 0
    receiver.answerWith(() => new Response('', { status: answers++ === 0 ? 503 : 200 }))
    const alerts = createAlerts({ url: receiver.url, log, pausesMs: [1], nowUs: () => 0 })
    alerts.send({ what: 'webhook', state: 'down', name: 'https://crm.example.com/calls' })
    alerts.send({ what: 'webhook', state: 'up', name: 'https://crm.example.com/calls' })
    await until('three requests came', () => receiver.received.length === 3)
    await alerts.stop()
    expect(bodies().map(({ alert }) => alert)).toEqual(['webhook_down', 'webhook_down', 'webhook_up'])
    expect(bodies()[0]).toEqual({
      time: '1970-01-01T00:00:00.000000Z',
      alert: 'webhook_down',
      url: 'https://crm.example.com/calls',
      text: 'Hookswitch: The webhook https://crm.example.com/calls has been down for 5 minutes.',
    })
  })

  test('say that a webhook refuses, and that it accepts again or is no longer watched', async () => {
    receiver.received.length = 0
    receiver.answerWith(() => new Response())
    const alerts = createAlerts({ url: receiver.url, log, nowUs: () => 0 })
    const about = { what: 'webhook', name: 'https://crm.example.com/' } as const
    alerts.send({ ...about, state: 'refuses' })
    alerts.send({ ...about, state: 'accepts' })
    alerts.send({ ...about, state: 'accepts', reason: 'its URL has left the list' })
    await until('all came', () => receiver.received.length === 3)
    await alerts.stop()
    expect(bodies().map(({ alert, url, text }) => [alert, url, text])).toEqual([
      [
        'webhook_refuses',
        about.name,
        'Hookswitch: The webhook https://crm.example.com/ refuses: at least five answers in a row were refusals. It works, so look at its log.',
      ],
      ['webhook_accepts', about.name, 'Hookswitch: The webhook https://crm.example.com/ accepts deliveries again.'],
      [
        'webhook_accepts',
        about.name,
        'Hookswitch: The webhook https://crm.example.com/ is no longer watched (its URL has left the list).',
      ],
    ])
  })

  test('say that a token cannot be renewed, and that it can again', async () => {
    receiver.received.length = 0
    receiver.answerWith(() => new Response())
    const alerts = createAlerts({ url: receiver.url, log, nowUs: () => 0 })
    const about = { what: 'authorization', name: 'https://crm.example.com/…' } as const
    alerts.send({ ...about, state: 'refused', reason: 'status 400: invalid_grant' })
    alerts.send({ ...about, state: 'renewed' })
    await until('both came', () => receiver.received.length === 2)
    await alerts.stop()
    expect(bodies().map(({ alert, url, text }) => [alert, url, text])).toEqual([
      [
        'authorization_refused',
        about.name,
        'Hookswitch: The authorization of https://crm.example.com/… is refused (status 400: invalid_grant). Its deliveries stay pending: correct its key or login.',
      ],
      ['authorization_renewed', about.name, 'Hookswitch: The authorization of https://crm.example.com/… works again.'],
    ])
  })

  test('mention nobody, hide no link and have no control characters, whatever a PBX says', async () => {
    receiver.received.length = 0
    receiver.answerWith(() => new Response())
    const alerts = createAlerts({ url: receiver.url, log, nowUs: () => 0 })
    const reason =
      'Message: <!channel> @all <https://evil.example|office> [office](https://evil.example)\r\n\u001b[2J\u202e'
    alerts.send({ what: 'pbx', state: 'down', name: 'of<fice', reason: reason + 'x'.repeat(10_000) })
    await until('it came', () => receiver.received.length === 1)
    await alerts.stop()
    const [{ text, pbx }] = bodies()
    expect(text).toStartWith(
      'Hookswitch: The PBX of‹fice has been down for 5 minutes (Message: ‹!channel› @\u200ball ' +
        '‹https://evil.example|office› [office] (https://evil.example) ?[2J?xxx',
    )
    expect(text.length).toBeLessThan(700)
    expect(pbx).toBe('of<fice')
  })

  test('do not delay a stop', async () => {
    const alerts = createAlerts({ url: 'http://127.0.0.1:1/', log, nowUs, pausesMs: [3_600_000] })
    alerts.send({ what: 'pbx', state: 'up', name: 'office' })
    await alerts.stop()
  })

  test('are dropped, and logged, when too many others wait; those come', async () => {
    receiver.received.length = 0
    const gate = Promise.withResolvers<void>()
    receiver.answerWith(async () => {
      await gate.promise
      return new Response()
    })
    const lines: string[] = []
    const alerts = createAlerts({
      url: receiver.url,
      nowUs,
      log: createLog('warn', { readable: false, write: (line) => void lines.push(line) }),
    })
    for (let place = 0; place < 1_005; place++) alerts.send({ what: 'pbx', state: 'down', name: `pbx ${place}` })
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(
      [1_000, 1_001, 1_002, 1_003, 1_004].map((at) => `pbx ${at}`),
    )
    gate.resolve()
    await until('the others came', () => receiver.received.length === 1_000)
    alerts.send({ what: 'pbx', state: 'up', name: 'the last' })
    await until('so does a later one', () => bodies().at(-1)?.pbx === 'the last')
    await alerts.stop()
    expect(lines).toHaveLength(5)
  })

  test('without a URL are not sent', async () => {
    const alerts = createAlerts({ log, nowUs })
    alerts.send({ what: 'pbx', state: 'down', name: 'office' })
    await alerts.stop()
  })
})

describe('a PBX', () => {
  test('sends an alert when its calls are not followed because too many are open, and when they are again', async () => {
    const sent: string[] = []
    const callsNotFollowed = { ever: 0, now: 0 }
    let checks = 0
    const status = () => {
      checks += 1
      return [{ name: 'office', state: 'up' as const, lastError: null, callsNotFollowed: { ...callsNotFollowed } }]
    }
    const alerts = {
      send: ({ what, state, name }: { what: string; state: string; name: string }) =>
        void sent.push(`${name} ${what} ${state}`),
      async stop() {},
    }
    const store = { outages: memoryOutages(), pbxs: { pbxList: async () => [] } }
    const watch = startPbxAlerts({ status, alerts, store, log, steadyUs: () => 0, everyMs: 1 })
    for (const now of [0, 5, 9, 0, 0, 2]) {
      callsNotFollowed.now = now
      const before = checks
      await until('it is checked again', () => checks >= before + 2)
    }
    await watch.stop()
    expect(sent).toEqual(['office calls not_followed', 'office calls followed', 'office calls not_followed'])
  })

  test('sends an alert when it has been down for five minutes, and when it is up again after that, once each', async () => {
    const sent: string[] = []
    const callsNotFollowed = { ever: 0, now: 0 }
    let state: 'up' | 'down' | 'connecting' | 'removed' = 'up'
    let nowUs = 0
    let checks = 0
    const pbx = () => {
      checks += 1
      return state === 'removed' ? [] : [{ name: 'office', state, lastError: 'no such host', callsNotFollowed }]
    }
    const alerts = {
      send: ({ state, reason = '-' }: { state: string; reason?: string | undefined }) =>
        void sent.push(`${state} ${reason}`),
      async stop() {},
    }
    const outages = memoryOutages()
    const existing = () => (state === 'removed' ? [] : [{ name: 'office', url: 'ami://a@b' }])
    const store = { outages, pbxs: { pbxList: async () => existing() as PbxRecord[] } }
    const start = () => startPbxAlerts({ status: pbx, alerts, store, log, steadyUs: () => nowUs, everyMs: 1 })
    let watch = start()
    const pass = async (minutes: number) => {
      nowUs += minutes * 60_000_000
      const before = checks
      await until('it is checked again', () => checks >= before + 2)
    }
    for (const [next, minutes] of [
      ['down', 4],
      ['up', 1],
      ['down', 0],
      ['down', 4.9],
      ['connecting', 0.2],
      ['down', 60],
      ['up', 1],
      ['up', 10],
      // Removed, and added again: its five minutes begin again.
      ['down', 4],
      ['removed', 1],
      ['down', 4],
      ['up', 1],
    ] as const) {
      state = next
      await pass(minutes)
    }
    expect(sent).toEqual(['down no such host', 'up -'])
    // A webhook that one process reported as down is reported as up by the next one.
    state = 'down'
    await pass(0)
    await pass(5)
    await watch.stop()
    state = 'up'
    watch = start()
    await until('it is reported', () => sent.length === 4)
    // And when it is removed.
    state = 'down'
    await pass(0)
    await pass(5)
    state = 'removed'
    await until('it is reported', () => sent.length === 6)
    await watch.stop()
    expect(sent.slice(2)).toEqual(['down no such host', 'up -', 'down no such host', 'up it was removed'])
  })
})
