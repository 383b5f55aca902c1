import { describe, expect, test } from 'bun:test'
import type { CallEvent } from '../src/events/bodies.ts'
import { differences } from './help/expected-compare.ts'
import { draft } from './help/expected-draft.ts'
import { readExpected } from './help/expected-file.ts'
import { freeswitchEvents } from './help/freeswitch-recording.ts'

// Events are held against `.expected` files in full words: what each fact catches, and what the message says.

type Body = CallEvent['body']

const played = freeswitchEvents(['queue-abandoned']).map(({ body }) => body)
const EXPECTED = `full
call_started inbound 79161234567 74950003000 | did 74950003000
dial_started user 1004 | in queue:support@default state waiting
dial_ended user 1004 cancelled | in queue:support@default ring 2 talk -
dial_ended queue support@default abandoned | ring 2 talk -
call_ended cancelled owner - | wait 3 talk - lasts 3 answered - handled - missed 1004 queue support@default/-/3 by caller cause cancelled code 16
call_saved recordings 0`
const ENDED = 'line 6: call_ended cancelled owner -'

type Change = (body: Body) => void

/** Returns the bodies of the recording, changed. */
function changed(change: Change): Body[] {
  const bodies = structuredClone(played)
  for (const body of bodies) change(body)
  return bodies
}

const ofCall = (change: (call: Body['data']['call'], name: string) => void) =>
  changed(({ data }) => change(data.call, data.name))

const party = (extension: string) => ({ number: extension, name: null, extension, e164: null, contact: null })

describe('what differs is named by its line, key, what is wanted and what was got', () => {
  test('nothing differs as recorded', () => expect(differences(played, EXPECTED)).toEqual([]))

  test.each<[what: string, bodies: Body[], sentences: string[]]>([
    [
      'a duration',
      ofCall((call, name) => {
        if (name === 'call_ended') call.wait_duration = 4
      }),
      [`${ENDED}: wait: wanted 3, got 4`],
    ],
    [
      'the wait in the queue',
      ofCall((call) => {
        if (call.queue !== null) call.queue.wait_duration = 2
      }),
      [`${ENDED}: queue: wanted support@default/-/3, got support@default/-/2`],
    ],
    [
      'a fact that is not written and not at its default',
      ofCall((call, name) => {
        if (name === 'call_ended') call.recorded = true
      }),
      [`${ENDED}: recorded: wanted no, got yes`],
    ],
    [
      'a second attempt',
      changed(({ data }) => {
        if (data.name === 'dial_started') data.stage.attempt = 2
      }),
      ['line 3: dial_started user 1004: try: wanted 1, got 2'],
    ],
    [
      'the group or queue of a phone',
      changed(({ data }) => {
        if (data.name === 'dial_started') data.stage.parent_id = null
      }),
      ['line 3: dial_started user 1004: in: wanted queue:support@default, got -'],
    ],
    [
      'an owner on a line that need not write it',
      ofCall((call, name) => {
        if (name === 'dial_ended') call.handled_by = [party('1002')]
      }),
      ['line 4: dial_ended user 1004 cancelled: owner: wanted -, got 1002', `${ENDED}: owner: wanted 1002, got -`],
    ],
    [
      'a called party that changes',
      ofCall((call, name) => {
        if (name !== 'call_started' && name !== 'dial_started') call.to = party('1009')
      }),
      ['line 4: dial_ended user 1004 cancelled: called: wanted 74950003000, got 1009'],
    ],
  ])('%s', (_, bodies, sentences) => expect(differences(bodies, EXPECTED)).toEqual(sentences))

  test('words that differ are shown as both lists', () => {
    const [sentence = ''] = differences(played, EXPECTED.replace('1004 cancelled', '1004 no_answer'))
    expect(sentence).toStartWith('line 2 and those after it: event 3 differs\nwanted:\ncall_started')
    expect(sentence).toContain('dial_ended user 1004 no_answer')
    expect(sentence).toContain('got:\n')
  })

  test('a call that no block expects is shown', () =>
    expect(differences(played, '')).toEqual([expect.stringContaining('a call that no block expects:\ncall_started')]))

  test('a block that is not full compares what it writes', () => {
    const some = EXPECTED.replace('full\n', '')
      .replace(/ \| .*/g, '')
      .replace('owner -', 'owner - | by callee')
    expect(differences(played, some)).toEqual(['line 5: call_ended cancelled owner -: by: wanted callee, got caller'])
  })
})

test.each([
  ['3', '3', true],
  ['3', '2', false],
  ['2.9', '3', true],
  ['2.9', '2', true],
  ['2.9', '1', false],
  ['3.1', '2', true],
  ['3.5', '3', true],
  ['3.5', '4', false],
  ['-', '3', false],
])('a wait of %s is one of %s seconds: %p', (wanted, got, isRight) => {
  const bodies = ofCall((call, name) => {
    if (name === 'call_ended') call.wait_duration = Number(got)
  })
  expect(differences(bodies, EXPECTED.replace('wait 3', `wait ${wanted}`)).length === 0).toBe(isRight)
})

test('lines of a run come in any order, each with its own facts; a comment ends the run', () => {
  const text = '~ a 1 | at 1\n~ b 2 | at 2\n# then\n~ c 3\n\nfull\nd | name "x | \\" y" in group:7'
  const blocks = readExpected(text)
  expect(blocks.map(({ isFull, runs }) => [isFull, runs.map((run) => run.map(({ words }) => words))])).toEqual([
    [false, [['a 1', 'b 2'], ['c 3']]],
    [true, [['d']]],
  ])
  expect(blocks[1]?.runs[0]?.[0]).toEqual({ at: 7, words: 'd', facts: { name: '"x | \\" y"', in: 'group:7' } })
})

test.each([
  ['a 1 | name', 'line 1: no fact of the form "key value": name'],
  ['\na 1 | at 1 at 2', 'line 2: two facts for at'],
])('a malformed fact is an error that says where: %j', (text, message) =>
  expect(() => readExpected(text)).toThrow(message),
)

test('a draft has no difference, and a draft of a draft is the same', () => {
  const bodies = freeswitchEvents(['attended-transfer']).map(({ body }) => body)
  const drafted = draft(bodies)
  expect(differences(bodies, drafted, { all: true })).toEqual([])
  expect(draft(bodies, drafted)).toBe(drafted)
  expect(drafted).toContain('| joins 2 owner ')
})
