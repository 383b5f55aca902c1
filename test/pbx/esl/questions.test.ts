import { expect, test } from 'bun:test'
import { answerEvent } from '../../../src/pbx/esl/answers.ts'
import type { EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createQuestions } from '../../../src/pbx/esl/questions.ts'
import { until } from '../../help/receiver.ts'

const DOMAIN = { by: 'domain', variable: null } as const

/** Questions to a FreeSWITCH that gives these answers, the last of them again and again. */
function asking(tenants: Parameters<typeof createQuestions>[1], ...bodies: string[]) {
  const asked: string[] = []
  const answers: EslFrame[] = []
  const next = (command: string): string => {
    asked.push(command)
    return (bodies.length > 1 ? bodies.shift() : bodies[0]) ?? ''
  }
  const questions = createQuestions(
    {
      send: async (command) => ({ ...answerEvent('', {}), body: next(command) }),
      runJob: async (command) => next(command),
    },
    tenants,
  )
  return {
    asked,
    answers,
    stop: questions.stop,
    learn: (...users: string[]) => questions.learnNames(users, (frame) => answers.push(frame)),
    see: (name: string, fields: Record<string, string>) =>
      questions.ask(answerEvent(name, fields), (frame) => answers.push(frame)),
  }
}

const CALLER = { 'Unique-ID': 'a-1', 'Call-Direction': 'inbound', 'Channel-Name': 'sofia/external/1@trunk' }

test('the domain of a caller is asked for until the dialplan has set it', async () => {
  const { asked, answers, see, stop } = asking(DOMAIN, '_undef_', '_undef_', 'acme.example')
  see('CHANNEL_CREATE', CALLER)
  await until('the answer', () => answers.length === 1)
  expect(new Set(asked)).toEqual(new Set(['api uuid_getvar a-1 domain_name']))
  expect(answers[0]?.event?.get('Unique-ID')).toBe('a-1')
  expect(answers[0]?.event?.get('variable_domain_name')).toBe('acme.example')
  stop()
})

test('nothing is asked of a leg that shows it, of one that is dialled, or of a PBX of one customer', () => {
  const shown = asking(DOMAIN, 'acme.example')
  shown.see('CHANNEL_CREATE', { ...CALLER, variable_domain_name: 'acme.example' })
  shown.see('CHANNEL_CREATE', { ...CALLER, 'Call-Direction': 'outbound' })
  shown.see('CHANNEL_CREATE', { ...CALLER, 'Unique-ID': 'a b\napi shutdown' })
  expect(shown.asked).toEqual([])
  const alone = asking(undefined, 'acme.example')
  alone.see('CHANNEL_CREATE', CALLER)
  expect(alone.asked).toEqual([])
})

test('no question is asked about a leg that has ended', async () => {
  const { asked, see } = asking(DOMAIN, '_undef_')
  see('CHANNEL_CREATE', CALLER)
  see('CHANNEL_HANGUP', CALLER)
  const other = asking(DOMAIN, '_undef_', '_undef_', '_undef_', 'acme.example')
  other.see('CHANNEL_CREATE', { ...CALLER, 'Unique-ID': 'b' })
  await until('another leg has its answer, after three more questions', () => other.answers.length === 1)
  expect(asked).toHaveLength(1)
})

test('the name of a user whom the dialplan names otherwise is asked for once', async () => {
  const { asked, answers, see } = asking(undefined, 'Anna Müller')
  const dialled = {
    'Call-Direction': 'outbound',
    variable_presence_id: '1001@acme.example',
    'Caller-Callee-ID-Name': 'Anna',
  }
  see('CHANNEL_CREATE', dialled)
  expect(asked).toEqual([])
  see('CHANNEL_CREATE', { ...dialled, variable_origination_callee_id_name: '74950001001' })
  see('CHANNEL_CREATE', { ...dialled, variable_origination_callee_id_name: '74950001001' })
  see('CHANNEL_CREATE', { ...dialled, variable_presence_id: '1@x y', variable_origination_callee_id_name: '1' })
  await until('the answer', () => answers.length === 1)
  expect(asked).toEqual(['user_data 1001@acme.example var effective_caller_id_name'])
  expect(answers[0]?.event?.get('name')).toBe('Anna Müller')
})

test('the name of an agent is asked for when a queue rings the agent or a party consults the agent', async () => {
  const { asked, see } = asking(undefined, 'Anna Müller')
  const dialled = { 'Call-Direction': 'outbound', 'Caller-Destination-Number': '1001' }
  const agent = { variable_cc_agent: '7c1f', variable_presence_id: '1001@acme.example' }
  see('CHANNEL_CREATE', { ...dialled, ...agent, 'Caller-Callee-ID-Name': 'Outbound Call' })
  const consulted = { variable_origination_callee_id_name: 'att_xfer', variable_presence_id: '1002@acme.example' }
  see('CHANNEL_CREATE', { ...dialled, ...consulted, 'Caller-Callee-ID-Name': 'att_xfer' })
  await until('both are asked for', () => asked.length === 2)
  expect(asked).toEqual([
    'user_data 1001@acme.example var effective_caller_id_name',
    'user_data 1002@acme.example var effective_caller_id_name',
  ])
})

test('the user of a phone that is dialled by its address is found by the customer, one behind a gateway is not', async () => {
  const { asked, see } = asking(undefined, 'Anna')
  const dialled = { 'Call-Direction': 'outbound', variable_domain_name: 'acme.example', 'Caller-Callee-ID-Name': '600' }
  see('CHANNEL_CREATE', { ...dialled, 'Caller-Destination-Number': '15550100101' })
  see('CHANNEL_CREATE', { ...dialled, 'Caller-Destination-Number': '1002', variable_sip_gateway_name: 'carrier' })
  see('CHANNEL_CREATE', { ...dialled, 'Caller-Destination-Number': '1001' })
  await until('asked', () => asked.length > 0)
  expect(asked).toEqual(['user_data 1001@acme.example var effective_caller_id_name'])
})

test('a text that is not a name is not an answer', async () => {
  for (const body of ['-ERR no such user', '_undef_', ' ']) {
    const { asked, answers, see } = asking(undefined, body)
    see('CHANNEL_CREATE', {
      'Call-Direction': 'outbound',
      variable_presence_id: '1001@acme.example',
      variable_origination_callee_id_name: '600',
    })
    await until('asked', () => asked.length === 1)
    expect(answers).toEqual([])
  }
})

test('the names of registered users are asked for once, before they are dialled, and no more after the end', async () => {
  const { asked, answers, learn, see, stop } = asking(undefined, 'Anna Abel', '-ERR no such user', 'Cleo')
  await learn('101@acme.example', '102@acme.example', '101@acme.example', 'no\nuser')
  expect(asked).toEqual(['101', '102'].map((user) => `user_data ${user}@acme.example var effective_caller_id_name`))
  expect(answers.map(({ event }) => [event?.get('user'), event?.get('name')])).toEqual([
    ['101@acme.example', 'Anna Abel'],
  ])
  const dialled = { 'Call-Direction': 'outbound', variable_presence_id: '101@acme.example' }
  see('CHANNEL_CREATE', { ...dialled, 'Caller-Callee-ID-Name': 'Outbound Call' })
  stop()
  await learn('103@acme.example')
  expect(asked).toHaveLength(2)
})

test.each([
  ['a name is asked for again after ten minutes', 'Anna', 600],
  ['an answer without a name, as the directory may have been away, is asked for again after a minute', '-ERR', 60],
])('%s', async (_, body, pauseS) => {
  const asked: string[] = []
  let nowS = 0
  const commands = {
    send: () => Promise.resolve(undefined),
    runJob: (command: string) => {
      asked.push(command)
      return Promise.resolve(body)
    },
  }
  const { learnNames } = createQuestions(commands, undefined, () => nowS * 1_000)
  for (nowS of [0, 1, pauseS - 1]) await learnNames(['101@acme.example'], () => {})
  expect(asked).toHaveLength(1)
  nowS = pauseS
  await learnNames(['101@acme.example'], () => {})
  expect(asked).toHaveLength(2)
})

test('a calling user has the name of the dialled extension asked for, and nothing of other numbers', () => {
  const { asked, see } = asking(undefined, 'Birgit')
  const call = { ...CALLER, variable_user_name: '1001', variable_domain_name: 'acme.example' }
  see('CHANNEL_CREATE', { ...call, 'Caller-Destination-Number': '*97' })
  see('CHANNEL_CREATE', { ...call, 'Caller-Destination-Number': '015557020105' })
  see('CHANNEL_CREATE', { ...call, 'Caller-Destination-Number': '1005', variable_user_name: '' })
  see('CHANNEL_CREATE', { ...call, 'Caller-Destination-Number': '1005', variable_domain_name: '' })
  expect(asked).toEqual([])
  see('CHANNEL_CREATE', { ...call, 'Caller-Destination-Number': '1005' })
  expect(asked).toEqual(['user_data 1005@acme.example var effective_caller_id_name'])
})
