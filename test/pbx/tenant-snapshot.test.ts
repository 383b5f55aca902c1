import { describe, expect, test } from 'bun:test'
import type { Signal } from '../../src/calls/signal.ts'
import { newTracker } from '../../src/calls/tracker/tracker.ts'
import { AmiDecoder } from '../../src/pbx/ami/decoder.ts'
import { createAmiTranslator } from '../../src/pbx/ami/translator/translator.ts'
import { createCommands } from '../../src/pbx/esl/commands.ts'
import { EslDecoder } from '../../src/pbx/esl/decoder.ts'
import { requestTenants } from '../../src/pbx/esl/tenant-request.ts'
import { createEslTranslator } from '../../src/pbx/esl/translator/translator.ts'
import { countingIds, player } from '../help/play.ts'

// Calls that are found up: their customers are in the list of channels, or are asked for.

const NOW_US = 1_795_213_000_000_000
const PATTERNS = { trunks: [], extensions: [], variables: [] }

/** The accounts of the calls that a snapshot begins. */
function accountsOf(signals: readonly Signal[]): string[] {
  const accountOf = (value: string) => (value.startsWith('acme') ? value : undefined)
  const state = newTracker('pbx', null, countingIds())
  const { play, rest, events } = player({ state: { ...state, tenants: { accountOf, isOnEveryChannel: false } } })
  play([{ kind: 'connected', first: true, boot: null, atUs: NOW_US, arrivedUs: NOW_US }, ...signals])
  rest(5_000_000)
  return events.filter(({ name }) => name === 'call_started').map(({ body }) => body.data.account)
}

describe('the snapshot of an Asterisk', () => {
  const row = (id: string, ...more: string[]) => [
    'Event: Status',
    'Privilege: Call',
    `Channel: PJSIP/10${id}-00000001`,
    'ChannelState: 6',
    'ChannelStateDesc: Up',
    `CallerIDNum: 10${id}`,
    ...more,
    `Uniqueid: 1795213000.${id}`,
    `Linkedid: 1795213000.${id}`,
    'DNID: 200',
  ]
  const VARIABLE = { by: 'variable', variable: 'TENANT' } as const

  test.each([
    ['account codes', { by: 'accountcode', variable: null } as const, ['AccountCode: acme', 'Context: phones']],
    ['contexts', { by: 'context', variable: null } as const, ['AccountCode: ', 'Context: acme']],
    ['a variable that was asked for', VARIABLE, ['AccountCode: ', 'Variable: TENANT=acme']],
  ])('%s', (_, tenants, headers) => {
    const text = [row('1', ...headers), row('2')].map((lines) => `${lines.join('\r\n')}\r\n\r\n`).join('')
    const frames = new AmiDecoder().push(Buffer.from(`Asterisk Call Manager/11.0.0\r\n${text}`))
    const signals = createAmiTranslator({ ...PATTERNS, tenants }).snapshot(frames, NOW_US)
    expect(accountsOf(signals)).toEqual(['acme'])
  })
})

describe('the snapshot of a FreeSWITCH', () => {
  const [PHONE, TRUNK] = ['00000000-0000-0000-0000-000000000001', '00000000-0000-0000-0000-000000000002']
  const up = {
    direction: 'inbound',
    state: 'CS_EXECUTE',
    callstate: 'ACTIVE',
    application: 'park',
    created_epoch: '1795213000',
  }
  const ROWS = [
    {
      ...up,
      uuid: PHONE,
      name: 'sofia/internal/1001@acme.example',
      cid_num: '1001',
      dest: '1002',
      presence_id: '1001@acme.example',
    },
    {
      ...up,
      uuid: TRUNK,
      name: 'sofia/external/7916@acme.carrier',
      cid_num: '7916',
      dest: '7495',
      presence_id: '7916@acme.carrier',
      initial_context: 'public',
    },
  ]

  /** Asks a FreeSWITCH that knows these variables of its legs. */
  async function listed(rule: Parameters<typeof requestTenants>[1], variables: Readonly<Record<string, string>>) {
    const asked: string[] = []
    const response = (body: string) => `Content-Type: api/response\nContent-Length: ${body.length}\n\n${body}`
    const decoder = new EslDecoder()
    const [channels] = new EslDecoder().push(Buffer.from(response(JSON.stringify({ row_count: 2, rows: ROWS }))))
    const commands = createCommands({
      write(text) {
        asked.push(text.trim())
        const [, , id = '', name = ''] = text.trim().split(' ')
        const value = variables[`${id} ${name}`] ?? '_undef_'
        queueMicrotask(() => {
          for (const frame of decoder.push(Buffer.from(response(value)))) commands.receive(frame)
        })
      },
      replyMs: 60_000,
      lost() {},
    })
    const shown = await requestTenants(commands, rule, channels)
    const frames = [channels, shown].flatMap((frame) => frame ?? [])
    return { asked, accounts: accountsOf(createEslTranslator({ ...PATTERNS, tenants: rule }).snapshot(frames, NOW_US)) }
  }

  test('domains: of each that calls it is asked for, as a trunk may give its callers a presence; the list has that of a phone', async () => {
    const rule = { by: 'domain', variable: null } as const
    expect(await listed(rule, { [`${TRUNK} domain_name`]: 'acme.two' })).toEqual({
      asked: [PHONE, TRUNK].map((id) => `api uuid_getvar ${id} domain_name`),
      accounts: ['acme.example', 'acme.two'],
    })
    expect((await listed(rule, {})).accounts).toEqual(['acme.example'])
  })

  test('a variable of each channel is asked for', async () => {
    const { asked, accounts } = await listed({ by: 'variable', variable: 'shop' }, { [`${PHONE} shop`]: 'acme' })
    expect(asked).toEqual([PHONE, TRUNK].map((id) => `api uuid_getvar ${id} shop`))
    expect(accounts).toEqual(['acme'])
  })

  test('nothing is asked where the list has it all, or there is one customer', async () => {
    expect((await listed({ by: 'accountcode', variable: null }, {})).asked).toEqual([])
    expect((await listed(undefined, {})).asked).toEqual([])
  })
})
