import { describe, expect, test } from 'bun:test'
import { createEndpoints } from '../../../src/pbx/endpoints/endpoints.ts'
import { createCommands } from '../../../src/pbx/esl/commands.ts'
import { EslDecoder } from '../../../src/pbx/esl/decoder.ts'
import { inventoryOf, profilesOf } from '../../../src/pbx/esl/inventory.ts'
import { requestInventory } from '../../../src/pbx/esl/inventory-request.ts'

const NONE = { trunks: [], extensions: [] }

const SOFIA = `                     Name	   Type	                                      Data	State
=================================================================================================
                 external	profile	              sip:mod_sofia@192.0.2.1:5082	RUNNING (0)
          external::carrier	gateway	          sip:74950000000@192.0.2.9:5060	NOREG
              pbx.example	  alias	                                  internal	ALIASED
                 internal	profile	              sip:mod_sofia@192.0.2.1:5080	RUNNING (0)
=================================================================================================
2 profiles 1 alias
`
const USERS = `userid|context|domain|group|contact|callgroup|effective_caller_id_name|effective_caller_id_number
1001|default|pbx.example|default|error/user_not_registered|office|Anna Bell|1001
bert|default|pbx.example|default|error/user_not_registered|office|Bert|2002

+OK
`
const REGISTRATIONS = '{"row_count":1,"rows":[{"reg_user":"1003","realm":"pbx.example"},null,{"reg_user":{}}]}'
const AGENTS = `name|instance_id|uuid|type|contact|status
1004@default|single_box||callback|[leg_timeout=5]user/1004@pbx.example|Available
mobile@default|single_box||callback|[leg_timeout=5]sofia/gateway/carrier/79037778899|Available
+OK
`
const PROFILES: Readonly<Record<string, string>> = {
  external: 'Name             	external\nContext          	public\n',
  internal: 'Name             	internal\nContext          	default\n',
}

describe('the configuration that a FreeSWITCH reports', () => {
  test('distinguishes phones, with number and name, from trunks; profiles are neither', () => {
    expect(profilesOf(SOFIA)).toEqual(['external', 'internal'])
    const endpoints = createEndpoints(NONE)
    endpoints.configure(
      inventoryOf({ sofia: SOFIA, users: USERS, registrations: REGISTRATIONS, agents: AGENTS, profiles: PROFILES }),
    )
    const rows = endpoints
      .list()
      .map(({ name, number, display, kind, reason }) => [name, number, display, kind, reason])
    expect(rows).toEqual([
      ['1001', '1001', 'Anna Bell', 'extension', 'directory'],
      ['1003', '1003', null, 'extension', 'registration'],
      ['1004', '1004', null, 'extension', 'seat'],
      ['bert', '2002', 'Bert', 'extension', 'directory'],
      ['carrier', null, null, 'trunk', 'registers'],
    ])
    expect(endpoints.kindOf('external')).toBe('trunk')
    expect(endpoints.caller('bert', { number: '74951234567', display: '', context: 'default', user: true })).toEqual({
      kind: 'extension',
      number: '2002',
      name: 'Bert',
    })
  })

  test('users of one name in several domains are different people: only common facts are known by the name alone', () => {
    const head = 'userid|context|domain|effective_caller_id_name|effective_caller_id_number'
    const rows = ['1001|a|a.example|Anna|1001', '1001|b|b.example|Bert|1001', '1002|a|a.example|Cleo|1002']
    const none = { sofia: '', registrations: '', agents: '', profiles: {} }
    expect(inventoryOf({ ...none, users: [head, ...rows, '', '+OK'].join('\n') }).endpoints).toEqual({
      '1001': { listed: 'directory', number: '1001' },
      '1002': { listed: 'directory', number: '1002', name: 'Cleo' },
    })
  })

  test('FusionPBX names agents and gateways by ids, and queues by their extensions: what people call them is known', () => {
    const [agent, gateway] = ['3c36280b-bf3f-536d-9d49-40273ae66a44', '04d741ce-05ca-505e-a080-37bd643147a4']
    const inventory = inventoryOf({
      sofia: ` external::${gateway}	gateway	sip:74950000000@192.0.2.9:5060	NOREG\n`,
      profiles: {},
      users: '',
      registrations: '',
      agents: `name|type|contact\n${agent}|callback|{call_timeout=8,domain_name=a.example}user/103@a.example\n+OK\n`,
      callcenter: `<queues><queue name="700@a.example" label="Sales &amp; Service@a.example"></queue>
        <queue name="702@a.example" label="B&#xFC;ro &#8211; &#x1F4DE; &#xFFFFFF; &other;@a.example"></queue>
        <queue name="701@a.example"></queue></queues>`,
    })
    expect(inventory.endpoints[gateway]).toEqual({ registers: true, name: '74950000000@192.0.2.9:5060' })
    const endpoints = createEndpoints(NONE)
    endpoints.configure(inventory)
    expect(endpoints.queueName('700@a.example')).toBe('Sales & Service')
    expect(endpoints.queueName('702@a.example')).toBe('Büro – 📞 &#xFFFFFF; &other;')
    expect(endpoints.queueName('701@a.example')).toBeNull()
    expect(endpoints.userOfAgent(agent)).toBe('103')
    expect(endpoints.isExtension('103')).toBe(true)
  })

  test('a gateway whose name is given has it, whatever it is called', () => {
    const gateways = '04d741ce-05ca-505e-a080-37bd643147a4 gw1 gw2'.split(' ')
    const sofia = gateways.map((name) => ` external::${name}	gateway	sip:7495@192.0.2.9	NOREG\n`).join('')
    const none = { sofia, profiles: {}, users: '', registrations: '', agents: '' }
    const { endpoints } = inventoryOf(none, { [gateways[0] ?? '']: 'Main carrier', gw1: 'Second' })
    expect(gateways.map((name) => endpoints[name]?.name)).toEqual(['Main carrier', 'Second', undefined])
  })

  test.each(['', '-ERR no reply', 'x|y', '{"rows":7}', '{', '\n\n|||\n|'])('an answer of %j costs nothing', (text) => {
    const answers = { sofia: text, users: text, registrations: text, agents: text, profiles: { '': text } }
    expect(inventoryOf(answers)).toMatchObject({ mailboxes: {} })
  })
})

/** A FreeSWITCH that answers background jobs as given: `undefined` is a command that it refuses. */
async function ask(answers: (command: string) => string | undefined, eventFirst = false) {
  const decoder = new EslDecoder()
  const sent: string[] = []
  const hear = (text: string): void => {
    for (const frame of decoder.push(Buffer.from(text))) commands.receive(frame)
  }
  const commands = createCommands({
    write(text) {
      const command = /^bgapi (.*)$/m.exec(text)?.[1] ?? ''
      const id = /^Job-UUID: (.*)$/m.exec(text)?.[1] ?? ''
      sent.push(command)
      const answer = answers(command)
      const reply = `Content-Type: command/reply\nReply-Text: ${answer === undefined ? '-ERR permission denied' : `+OK Job-UUID: ${id}`}\n\n`
      const body = JSON.stringify({ 'Event-Name': 'BACKGROUND_JOB', 'Job-UUID': id, _body: answer })
      const event = `Content-Length: ${Buffer.byteLength(body)}\nContent-Type: text/event-json\n\n${body}`
      const other = event.replace(id, crypto.randomUUID())
      queueMicrotask(() => {
        if (answer === undefined) hear(reply)
        else hear(other + (eventFirst ? event + reply : reply + event))
      })
    },
    replyMs: 60_000,
    lost() {},
  })
  return { ...(await requestInventory(commands)), commands: sent }
}

const ANSWERS: Readonly<Record<string, string>> = {
  'sofia status': SOFIA,
  list_users: USERS,
  'show registrations as json': REGISTRATIONS,
  'callcenter_config agent list': AGENTS,
  'xml_locate configuration configuration name callcenter.conf': '<configuration name="callcenter.conf"/>',
  'sofia status profile external': PROFILES.external ?? '',
  'sofia status profile internal': PROFILES.internal ?? '',
}

describe('it is asked in the background', () => {
  test.each([false, true])('in either order of the reply and the result: %p', async (eventFirst) => {
    const { inventory, denied, commands } = await ask((command) => ANSWERS[command] ?? '-ERR\n', eventFirst)
    expect(commands.toSorted()).toEqual(Object.keys(ANSWERS).toSorted())
    expect(denied).toEqual([])
    expect(Object.keys(inventory?.endpoints ?? {}).length).toBe(7)
  })

  test('a missing module or right costs only its own answers', async () => {
    const { inventory, denied } = await ask((command) =>
      command === 'list_users'
        ? undefined
        : command.startsWith('callcenter')
          ? '-ERR command not found!\n'
          : ANSWERS[command],
    )
    expect(denied).toEqual(['list_users', 'callcenter_config agent list'])
    expect(Object.keys(inventory?.endpoints ?? {}).toSorted()).toEqual(['1003', 'carrier', 'external', 'internal'])
  })
})
