import { describe, expect, test } from 'bun:test'
import { requestChannel } from '../../../src/calls/request-channel.ts'
import { originateAction } from '../../../src/pbx/ami/originate-action.ts'
import type { CallAnswer, CallOrder } from '../../../src/pbx/connection/call-order.ts'
import { originateCommand } from '../../../src/pbx/esl/originate-command.ts'
import { KINDS } from '../../../src/pbx/kinds.ts'
import { orderOf } from '../../../src/pbx/originate/order.ts'
import { type PbxSource, parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import type { PhoneDevice } from '../../../src/states/board/board.ts'
import { hostileText } from '../../help/hostile-text.ts'
import { startPbx } from '../../help/pbx-server.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const ID = '01a22411-3655-7177-83bb-d98aabb5a50d'
const TIMEOUTS = { answerMs: 300, failureMs: 200 }

function sourceOf(url: string): PbxSource {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.pbx
}
const orderFor = (endpoint: string, more: Partial<CallOrder> = {}): CallOrder => ({
  channelId: requestChannel(ID),
  to: '+4930123456',
  name: '',
  phone: { extension: '101', endpoint, name: 'Anna', tenant: null },
  ...more,
})
const never = new Promise<void>(() => {})

/** Starts a PBX that answers each frame of a client; `answer` returns what it sends, or `undefined` to hang up. */
function startScripted(greeting: string, answer: (frame: string) => string | undefined) {
  const frames: string[] = []
  const pbx = startPbx((client) => {
    let unread = ''
    client.write(greeting)
    return {
      data(bytes) {
        unread += bytes.toString()
        for (let end = /(\r?\n){2}/.exec(unread); end !== null; end = /(\r?\n){2}/.exec(unread)) {
          const frame = unread.slice(0, end.index)
          unread = unread.slice(end.index + end[0].length)
          frames.push(frame)
          const reply = answer(frame)
          if (reply === undefined) client.close()
          else if (reply !== '') client.write(reply)
        }
      },
    }
  })
  return { frames, port: pbx.port, connections: pbx.connections, [Symbol.dispose]: pbx.stop }
}

const idOf = (frame: string): string => /^ActionID: (.*?)\r?$/m.exec(frame)?.[1] ?? ''
const reply = (frame: string, ...lines: string[]): string =>
  `${[...lines, `ActionID: ${idOf(frame)}`].join('\r\n')}\r\n\r\n`

/** An Asterisk whose login works; `onAction` answers the rest. */
const startAsterisk = (onAction: (frame: string) => string | undefined) =>
  startScripted('Asterisk Call Manager/7.0.3\r\n', (frame) => {
    if (frame.startsWith('Action: Challenge')) return reply(frame, 'Response: Success', 'Challenge: 1')
    if (frame.startsWith('Action: Login')) return reply(frame, 'Response: Success', 'Message: Authentication accepted')
    return onAction(frame)
  })

/** A FreeSWITCH whose login works; `onCommand` answers the rest. */
const startFreeswitch = (onCommand: (frame: string) => string | undefined) =>
  startScripted('Content-Type: auth/request\n\n', (frame) => {
    if (frame.startsWith('auth ')) return 'Content-Type: command/reply\nReply-Text: +OK accepted\n\n'
    if (frame.startsWith('event ')) return 'Content-Type: command/reply\nReply-Text: +OK event listener\n\n'
    if (frame.startsWith('api user_data')) return 'Content-Type: api/response\nContent-Length: 7\n\ndefault'
    return onCommand(frame)
  })

const accepted = (frame: string): string =>
  `Content-Type: command/reply\nReply-Text: +OK Job-UUID: ${jobOf(frame)}\nJob-UUID: ${jobOf(frame)}\n\n`
const jobOf = (frame: string): string => /^Job-UUID: (.*)$/m.exec(frame)?.[1] ?? ''
function ended(frame: string, output: string): string {
  const event = JSON.stringify({ 'Event-Name': 'BACKGROUND_JOB', 'Job-UUID': jobOf(frame), _body: output })
  return `Content-Length: ${Buffer.byteLength(event)}\nContent-Type: text/event-json\n\n${event}`
}

const makerFor = (kind: 'asterisk' | 'freeswitch', port: number) => {
  const url =
    kind === 'asterisk' ? `ami://watch:w@127.0.0.1:${port}?calls=clicker:c` : `esl://:p@127.0.0.1:${port}?calls=yes`
  return KINDS[kind].createCallMaker(sourceOf(url), TIMEOUTS)
}

describe('a call on an Asterisk', () => {
  test('is one action of the second user: the phone sees the number, the dialplan sees the phone', async () => {
    using asterisk = startAsterisk((frame) =>
      reply(frame, 'Response: Success', 'Message: Originate successfully queued'),
    )
    const answer = await makerFor('asterisk', asterisk.port).call(orderFor('PJSIP/101', { name: 'Bob' }), never)
    expect(answer).toEqual({ kind: 'made' })
    expect(
      asterisk.frames.filter((frame) => frame.includes('Username: clicker') && frame.includes('Events: off')),
    ).toHaveLength(1)
    const [, , originate = ''] = asterisk.frames
    expect(originate.split('\r\n').filter((line) => !line.startsWith('ActionID'))).toEqual([
      'Action: Originate',
      'Channel: PJSIP/101',
      `ChannelId: hks-${ID}`,
      'Context: from-internal',
      'Exten: +4930123456',
      'Priority: 1',
      'Timeout: 30000',
      'Async: true',
      'Variable: CALLERID(num)=101',
      'Variable: CALLERID(name)=Anna',
      'Variable: CONNECTEDLINE(num)=+4930123456',
      'Variable: CONNECTEDLINE(name)=Bob',
    ])
  })

  const answers: readonly [what: string, answer: (frame: string) => string | undefined, expected: CallAnswer][] = [
    [
      'that refuses is refused, with its reason',
      (frame) => reply(frame, 'Response: Error', 'Message: Extension does not exist.'),
      { kind: 'refused', reason: 'Extension does not exist.' },
    ],
    [
      'whose user lacks the right says which',
      (frame) => reply(frame, 'Response: Error', 'Message: Permission denied'),
      { kind: 'refused', reason: 'the user of calls= may not do this: give it write = originate,call' },
    ],
    ['that does not answer is in doubt', () => '', { kind: 'unanswered', reason: 'no answer came' }],
    ['that breaks the connection is in doubt', () => undefined, { kind: 'unanswered', reason: 'no answer came' }],
  ]
  test.each(answers)('%s, and is asked once', async (_, answer, expected) => {
    using asterisk = startAsterisk(answer)
    expect(await makerFor('asterisk', asterisk.port).call(orderFor('PJSIP/101'), never)).toEqual(expected)
    expect(asterisk.frames.filter((frame) => frame.startsWith('Action: Originate'))).toHaveLength(1)
    expect(asterisk.connections()).toBe(1)
  })

  test('that refuses the login, or is away, is refused: nothing was sent', async () => {
    using asterisk = startScripted('Asterisk Call Manager/7.0.3\r\n', (frame) =>
      frame.startsWith('Action: Challenge')
        ? reply(frame, 'Response: Success', 'Challenge: 1')
        : reply(frame, 'Response: Error', 'Message: Authentication failed'),
    )
    const { port } = asterisk
    const maker = makerFor('asterisk', port)
    expect(await maker.call(orderFor('PJSIP/101'), never)).toEqual({
      kind: 'refused',
      reason: 'it refuses the user clicker: Authentication failed',
    })
    asterisk[Symbol.dispose]()
    expect(await maker.call(orderFor('PJSIP/101'), never)).toMatchObject({ kind: 'refused' })
    expect(asterisk.frames.some((frame) => frame.startsWith('Action: Originate'))).toBe(false)
  })

  test('is hung up by the ids of its channels; one that is gone does no harm', async () => {
    using asterisk = startAsterisk((frame) =>
      frame.includes('Channel: gone')
        ? reply(frame, 'Response: Error', 'Message: No such channel')
        : reply(frame, 'Response: Success', 'Message: Channel Hungup'),
    )
    const maker = makerFor('asterisk', asterisk.port)
    expect(await maker.hangUp(['gone', 'up'])).toEqual({ kind: 'made' })
    expect(await maker.hangUp(['gone'])).toEqual({ kind: 'refused', reason: 'No such channel' })
  })

  const tenants: readonly [rule: string, expected: object][] = [
    ['accountcode', { Account: 'Acme', Context: 'from-internal' }],
    ['context', { Context: 'Acme' }],
    ['variable:CUSTOMER', { Context: 'from-internal' }],
  ]
  test.each(tenants)('of one of several customers (tenants=%s) carries what makes it theirs', (rule, expected) => {
    const source = sourceOf(`ami://u:s@h?tenants=${rule}&calls=c:s`)
    const phone = { extension: '101', endpoint: 'PJSIP/101', name: '', tenant: 'Acme' }
    const action = originateAction(source, orderFor('PJSIP/101', { phone }))
    expect(action).toMatchObject(expected)
    expect([action.Variable].flat().includes('__CUSTOMER=Acme')).toBe(rule === 'variable:CUSTOMER')
  })

  test('rings the extension instead of a device where the URL says so', () => {
    const source = sourceOf('ami://u:s@h?calls=c:s&calls_phone=extension')
    expect(originateAction(source, orderFor('PJSIP/101'))).toMatchObject({
      Channel: 'Local/101@from-internal',
      ChannelId: `hks-${ID}`,
      OtherChannelId: `hks-${ID}-2`,
    })
  })
})

describe('a call on a FreeSWITCH', () => {
  test('is one job, in the context of the phone', async () => {
    using freeswitch = startFreeswitch((frame) => accepted(frame) + ended(frame, `+OK hks-${ID}\n`))
    const answer = await makerFor('freeswitch', freeswitch.port).call(
      orderFor('101@acme.example', { name: 'Bob' }),
      never,
    )
    expect(answer).toEqual({ kind: 'made' })
    expect(freeswitch.frames.filter((frame) => frame.startsWith('bgapi')).map((frame) => frame.split('\n')[0])).toEqual(
      [
        `bgapi originate {origination_uuid=hks-${ID},origination_caller_id_number=+4930123456,origination_caller_id_name='Bob',` +
          'originate_timeout=30,ignore_early_media=true}user/101@acme.example +4930123456 XML default',
      ],
    )
  })

  const answers: readonly [what: string, answer: (frame: string) => string | undefined, expected: object][] = [
    [
      'whose job fails soon is refused, with its reason',
      (frame) => accepted(frame) + ended(frame, '-ERR USER_NOT_REGISTERED\n'),
      { kind: 'refused', reason: 'USER_NOT_REGISTERED' },
    ],
    [
      'that refuses the command is refused',
      () => 'Content-Type: command/reply\nReply-Text: -ERR not allowed\n\n',
      { kind: 'refused', reason: 'not allowed' },
    ],
    ['whose job goes on is made', accepted, { kind: 'made' }],
    ['that does not answer is in doubt', () => '', { kind: 'unanswered' }],
    ['that breaks the connection is in doubt', () => undefined, { kind: 'unanswered' }],
  ]
  test.each(answers)('%s, and is asked once', async (_, answer, expected) => {
    using freeswitch = startFreeswitch(answer)
    expect(await makerFor('freeswitch', freeswitch.port).call(orderFor('101@acme.example'), never)).toMatchObject(
      expected,
    )
    expect(freeswitch.frames.filter((frame) => frame.startsWith('bgapi'))).toHaveLength(1)
    expect(freeswitch.connections()).toBe(1)
  })

  test('that is seen among the events waits for nothing else', async () => {
    using freeswitch = startFreeswitch(accepted)
    expect(await makerFor('freeswitch', freeswitch.port).call(orderFor('101@a.example'), Promise.resolve())).toEqual({
      kind: 'made',
    })
  })

  test('of one of several customers carries what makes it theirs', () => {
    const commandFor = (rule: string) =>
      originateCommand(
        sourceOf(`esl://:p@h?tenants=${rule}&calls=yes`),
        orderFor('101@acme.example', {
          phone: { extension: '101', endpoint: '101@acme.example', name: '', tenant: 'acme.example' },
        }),
        'acme.example',
      )
    expect(commandFor('accountcode')).toContain(",accountcode='acme.example'}")
    expect(commandFor('variable:customer')).toContain(",customer='acme.example'}")
    expect(commandFor('domain')).toContain('true}user/101@acme.example ')
  })
})

const DEVICE: PhoneDevice = { endpoint: 'PJSIP/101', name: 'Anna', tenant: null, isRegistered: true }
const ASTERISK = sourceOf('ami://u:s@h?calls=c:s')
const FREESWITCH = sourceOf('esl://:p@h?calls=yes')
const NAME = `[^"<>\\\\\${}[\\]',^|&;\\p{Cc}\\p{Zl}\\p{Zp}]*`
const COMMAND = new RegExp(
  `^originate \\{origination_uuid=hks-${ID},origination_caller_id_number=(\\+?[0-9*#]{1,32}),` +
    `origination_caller_id_name='${NAME.replace('[^', '[^%')}',originate_timeout=30,ignore_early_media=true\\}user/101@a\\.example \\1 XML default$`,
  'u',
)
const FIXED = { Action: 'Originate', Channel: 'PJSIP/101', Context: 'from-internal', Priority: '1', Async: 'true' }

/** What may differ: the number and the name, each in its own place. */
const VARIABLES = new RegExp(
  `^CALLERID\\(num\\)=101\nCALLERID\\(name\\)=Anna\nCONNECTEDLINE\\(num\\)=\\+?[0-9*#]{1,32}(\nCONNECTEDLINE\\(name\\)=${NAME})?$`,
  'u',
)

test('10,000 hostile numbers and names put nothing but a number and a plain name into a command', () => {
  let ordered = 0
  const seeds = seedsOf(47, 10_000)
  for (const seed of seeds)
    playCase(seed, (random) => {
      const request = {
        id: ID,
        accountId: 1,
        pbx: 'office',
        extension: '101',
        callId: null,
        number: hostileText(random),
        name: random.chance(0.5) ? '' : hostileText(random),
      }
      const asterisk = orderOf(ASTERISK, request, [DEVICE])
      if ('reason' in asterisk) return
      ordered += 1
      const action = originateAction(ASTERISK, asterisk.order)
      expect(action).toMatchObject(FIXED)
      expect(action.Exten).toMatch(/^\+?[0-9*#]{1,32}$/)
      expect([action.Variable].flat().join('\n')).toMatch(VARIABLES)
      const freeswitch = orderOf(FREESWITCH, request, [{ ...DEVICE, endpoint: '101@a.example' }])
      if ('reason' in freeswitch) throw new Error(freeswitch.reason)
      expect(originateCommand(FREESWITCH, freeswitch.order, 'default')).toMatch(COMMAND)
    })
  expect(ordered / seeds.length).toBeGreaterThan(0.02)
})

describe('the phone of an order', () => {
  const request = { id: ID, accountId: 1, pbx: 'p', extension: '101', callId: null, number: '102', name: null }
  const device = (endpoint: string, isRegistered: boolean | null): PhoneDevice => ({
    ...DEVICE,
    endpoint,
    isRegistered,
  })
  const chosen = (...devices: PhoneDevice[]) => {
    const ordered = orderOf(ASTERISK, request, devices)
    return 'reason' in ordered ? ordered.reason : ordered.order.phone.endpoint
  }
  test('is the first registered device, else one of which nothing is known', () => {
    expect(chosen(device('PJSIP/101', false), device('PJSIP/99101', true), device('SIP/101', true))).toBe('PJSIP/99101')
    expect(chosen(device('DAHDI/1', null))).toBe('DAHDI/1')
    expect(chosen(device('PJSIP/101', false))).toBe('no device of 101 is registered')
    expect(chosen()).toBe('the PBX shows no phone 101')
  })
  test.each(['PJSIP/101&PJSIP/102', 'PJSIP/101,1', 'PJSIP/${X}', 'PJSIP/a b', ''])('is never %j', (endpoint) => {
    expect(chosen(device(endpoint, true))).toContain('cannot be dialled')
  })
})
