// biome-ignore-all lint/suspicious/noTemplateCurlyInString: dialplans are written like that
import { afterEach, describe, expect, test } from 'bun:test'
import { createActions } from '../../../src/pbx/ami/actions.ts'
import { AmiDecoder } from '../../../src/pbx/ami/decoder.ts'
import { isWanted } from '../../../src/pbx/ami/events.ts'
import { LISTS, requestInventory } from '../../../src/pbx/ami/inventory.ts'
import { createEndpoints } from '../../../src/pbx/endpoints/endpoints.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'
import { actionId, actionName, ami } from '../../help/pbx.ts'

type Answers = Readonly<Record<string, readonly string[] | 'denied' | 'unknown' | 'silent'>>

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Asks an Asterisk with the given answers; every other command is unknown to it. */
async function ask(
  answers: Answers,
  globals: Readonly<Record<string, string>> = {},
  source: { protocol: 'ami' | 'amis'; host: string } = { protocol: 'ami', host: '127.0.0.1' },
) {
  const decoder = new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, []) })
  const asked: string[] = []
  const untaken: string[] = []
  const hear = (text: string): void => {
    for (const frame of decoder.push(Buffer.from(text))) if (!actions.receive(frame)) untaken.push(frame.name)
  }
  const actions = createActions(
    (block) => {
      const id = actionId(block)
      const name = actionName(block)
      asked.push(name)
      const answer = answers[name] ?? 'unknown'
      const variable = /^Variable: (\S+)/m.exec(block)?.[1] ?? ''
      queueMicrotask(() => {
        if (answer === 'silent') return actions.close()
        if (name === 'Getvar')
          hear(ami(`Response: Success\nActionID: ${id}\nVariable: ${variable}\nValue: ${globals[variable] ?? ''}`))
        else if (typeof answer === 'string')
          hear(
            ami(
              `Response: Error\nActionID: ${id}\nMessage: ${answer === 'denied' ? 'Permission denied' : 'Invalid/unknown command'}`,
            ),
          )
        else
          hear(
            [
              ami(`Response: Success\nActionID: ${id}\nEventList: start\nMessage: will follow`),
              ...answer.map((row) =>
                row.includes('\r') ? row.replace('ID', id) : ami(row.replace('\n', `\nActionID: ${id}\n`)),
              ),
              ami(
                `Event: ${name}Complete\nActionID: ${id}\nEventList: Complete\nListItems: ${answer.filter((row) => !row.startsWith('Event: AuthDetail')).length}`,
              ),
            ].join(''),
          )
      })
    },
    { replyMs: 60_000, listMs: 60_000 },
  )
  closing.push(actions.close)
  hear('Asterisk Call Manager/11.0.0\r\n')
  return { ...(await requestInventory(source, actions)), asked, untaken }
}

const hint = (exten: string, device: string) =>
  `Event: ExtensionStatus\nExten: ${exten}\nContext: any\nHint: ${device}\nStatus: 0`
const dial = (appData: string) =>
  `Event: ListDialplan\nContext: any\nExtension: _X.\nPriority: 1\nApplication: Dial\nAppData: ${appData}`

const HAND_MADE: Answers = {
  ExtensionStateList: [
    hint('101', 'PJSIP/101'),
    hint('201', 'PJSIP/anna&Custom:DND201,CustomPresence:201'),
    hint('*47', 'Custom:x'),
    hint('_1XX', 'PJSIP/${EXTEN}'),
  ],
  VoicemailUsersList: [
    'Event: VoicemailUserEntry\nVMContext: default\nVoiceMailbox: 201\nFullname: Anna Bell',
    'Event: VoicemailUserEntry\nVMContext: default\nVoiceMailbox: 105\nFullname: Eve Fox',
  ],
  QueueStatus: [
    'Event: QueueParams\nQueue: support\nMax: 0',
    'Event: QueueMember\nQueue: support\nName: Bert\nLocation: Local/301@from-queue/n\nStateInterface: SIP/bert',
    'Event: QueueEntry\nQueue: support\nPosition: 1\nChannel: PJSIP/t-1\nCallerIDNum: 1',
  ],
  PJSIPShowRegistrationsOutbound: [
    'Event: OutboundRegistrationDetail\nObjectName: carrier-reg\nEndpoint: carrier\nServerUri: sip:192.0.2.1',
  ],
  DeviceStateList: [
    'Event: DeviceStateChange\nDevice: PJSIP/door\nState: NOT_INUSE',
    'Event: DeviceStateChange\nDevice: Queue:support_avail\nState: INUSE',
  ],
  ShowDialPlan: [dial('PJSIP/${EXTEN}@other,30'), dial('PJSIP/fax'), dial('PJSIP/101&PJSIP/anna')],
}

describe('the requests to an Asterisk after the login', () => {
  test('distinguishes phones, with number and name, from trunks, and what nothing is known of', async () => {
    const { inventory, denied } = await ask(HAND_MADE)
    expect(denied).toEqual([])
    const endpoints = createEndpoints({ trunks: [], extensions: [] })
    if (inventory !== undefined) endpoints.configure(inventory)
    expect(
      endpoints.list().map(({ name, number, display, kind, reason }) => [name, number, display, kind, reason]),
    ).toEqual([
      ['PJSIP/101', '101', null, 'extension', 'hint'],
      ['PJSIP/anna', '201', 'Anna Bell', 'extension', 'hint'],
      ['PJSIP/carrier', null, null, 'trunk', 'registers'],
      ['PJSIP/door', null, null, null, 'none'],
      ['PJSIP/fax', null, null, 'extension', 'dialplan_alone'],
      ['PJSIP/other', null, null, 'trunk', 'dialplan_number'],
      ['SIP/bert', null, null, 'extension', 'seat'],
    ])
    expect(endpoints.caller('PJSIP/105', { number: '105', display: '', context: 'any' }).name).toBe('Eve Fox')
  })

  test('mailboxes of one number in several contexts name nobody', async () => {
    const row = (context: string, name: string) =>
      `Event: VoicemailUserEntry\nVMContext: ${context}\nVoiceMailbox: 101\nFullname: ${name}`
    const { inventory } = await ask({ VoicemailUsersList: [row('a', 'Anna'), row('b', 'Bert'), row('c', 'Anna')] })
    expect(inventory?.mailboxes).toEqual({ '101': '' })
  })

  test('a missing right costs only its own answers', async () => {
    const { inventory, denied } = await ask({ ...HAND_MADE, ShowDialPlan: 'denied', VoicemailUsersList: 'denied' })
    expect(denied).toEqual(['VoicemailUsersList', 'ShowDialPlan'])
    expect(Object.keys(inventory?.endpoints ?? {})).toEqual([
      'PJSIP/101',
      'PJSIP/anna',
      'SIP/bert',
      'PJSIP/carrier',
      'PJSIP/door',
    ])
  })

  test('no rights at all, or modules that are not there', async () => {
    const all = Object.fromEntries(LISTS.map(([name]) => [name, 'denied'] as const))
    expect(await ask(all)).toMatchObject({
      inventory: { endpoints: {}, mailboxes: {} },
      denied: LISTS.map(([name]) => name),
    })
    expect(await ask({})).toMatchObject({ inventory: { endpoints: {} }, denied: [] })
  })

  test('a PBX that stops answering leaves the known endpoints unchanged', async () => {
    const { inventory, asked } = await ask({ ...HAND_MADE, QueueStatus: 'silent' })
    expect(inventory).toBeUndefined()
    expect(asked.at(-1)).toBe('QueueStatus')
  })

  test('trunks that global variables name, FreePBX numbered ones with gaps', async () => {
    const dialplan = {
      ShowDialPlan: [
        dial('${TRUNK}/${EXTEN},30'),
        dial('PJSIP/${EXTEN}@${NAME}'),
        dial('${OUT_${DIAL_TRUNK}}/${OUTNUM}'),
      ],
    }
    const globals = {
      TRUNK: 'SIP/one',
      NAME: 'two',
      OUT_1: 'PJSIP',
      OUT_1_SUFFIX: '@three',
      OUT_4: 'DAHDI/g0',
      OUT_5: 'AMP:custom',
    }
    const { inventory, asked } = await ask(dialplan, globals)
    expect(inventory?.endpoints).toEqual({
      'SIP/one': { dialled: 'with_number' },
      'PJSIP/two': { dialled: 'with_number' },
      'PJSIP/three': { dialled: 'with_number' },
      'DAHDI/g0': { dialled: 'with_number' },
    })
    expect(asked.filter((name) => name === 'Getvar').length).toBe(2 + 5 + 1 + 10)
  })

  test('registrations come with passwords: they are asked for only where nobody reads along, and never kept', async () => {
    const auth = 'Event: AuthDetail\nObjectName: carrier-auth\nUsername: 15550100\nPassword: verysecret'
    const uncounted = {
      ...HAND_MADE,
      PJSIPShowRegistrationsOutbound: [...(HAND_MADE.PJSIPShowRegistrationsOutbound ?? []), auth],
    }
    for (const [protocol, host, isAsked] of [
      ['ami', '192.0.2.1', false],
      ['amis', '192.0.2.1', true],
      ['ami', '127.0.0.1', true],
    ] as const) {
      const { inventory, asked } = await ask(uncounted, {}, { protocol, host })
      expect(asked.includes('PJSIPShowRegistrationsOutbound')).toBe(isAsked)
      expect(inventory?.endpoints['PJSIP/carrier']?.registers === true).toBe(isAsked)
      expect(JSON.stringify(inventory)).not.toContain('verysecret')
    }
  })

  test('chan_sip: who logs in is a phone', async () => {
    const peer = (name: string, dynamic: string) =>
      `Event: PeerEntry\nChanneltype: SIP\nObjectName: ${name}\nDynamic: ${dynamic}`
    const { inventory } = await ask({ SIPpeers: [peer('301', 'yes'), peer('carrier', 'no')] })
    expect(inventory?.endpoints).toEqual({ 'SIP/301': { listed: 'registration' }, 'SIP/carrier': {} })
  })

  test('a caller in a queue who writes into its list costs his row alone, and is no reason to doubt', async () => {
    const written = amiEvent('QueueEntry', {
      ActionID: 'ID',
      ...snapshotOf('1.1', { CallerIDNum: '1\r\nLocation: PJSIP/x\r\nLocation: y' }),
    }).replace('Privilege: call,all\r\n', '')
    const { inventory, untaken } = await ask({
      ...HAND_MADE,
      QueueStatus: [...(HAND_MADE.QueueStatus as string[]), written],
    })
    expect(inventory?.endpoints['SIP/bert']).toEqual({ listed: 'seat' })
    expect(untaken).toEqual([])
  })
})
