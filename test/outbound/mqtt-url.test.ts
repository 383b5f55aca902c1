import { describe, expect, test } from 'bun:test'
import { EXAMPLES } from '../../src/events/samples.ts'
import { parseAllowList } from '../../src/outbound/address-guard.ts'
import { parseMqttUrl, retainWarning, TOPIC_NAMES, topicOf } from '../../src/outbound/mqtt-url.ts'
import { targetOf } from '../../src/outbound/target.ts'
import { topicOfEvent } from '../../src/webhooks/event-topic.ts'
import { urlProblem } from '../../src/webhooks/model.ts'
import { scaled, seededRandom } from '../help/seed.ts'

const allowed = (...nets: string[]) => {
  const parsed = parseAllowList(nets)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.allow
}
const problem = (url: string, ...nets: string[]) => urlProblem(url, allowed(...nets))

describe('accepted:', () => {
  test.each([
    ['mqtt://broker.example/calls', { isTls: false, port: 1_883, topic: ['calls'] }],
    ['MQTTS://broker.example/calls', { isTls: true, port: 8_883, topic: ['calls'] }],
    ['mqtt://broker.example:80/calls', { port: 80 }],
    ['mqtts://broker.example:443/calls', { port: 443 }],
    ['mqtt://broker.example:/calls', { port: 1_883 }],
    ['mqtt://user:secret@broker.example/calls', { user: 'user', password: 'secret' }],
    ['mqtt://token@broker.example/calls', { user: 'token', password: undefined }],
    ['mqtt://us%40er:p%2Fa%3Aß@broker.example/calls', { user: 'us@er', password: 'p/a:ß' }],
    ['mqtt://broker.example/a/b/c', { topic: ['a/b/c'] }],
    ['mqtt://broker.example//a', { topic: ['/a'] }],
    ['mqtt://broker.example/a/', { topic: ['a/'] }],
    ['mqtt://broker.example/a/../b/./c', { topic: ['a/../b/./c'] }],
    ['mqtt://broker.example/gespr%C3%A4che', { topic: ['gespräche'] }],
    ['mqtt://broker.example/gespräche', { topic: ['gespräche'] }],
    ['mqtt://broker.example/100%2525', { topic: ['100%25'] }],
    ['mqtt://broker.example/what%3F', { topic: ['what?'] }],
    ['mqtt://broker.example/a%2Fb', { topic: ['a/b'] }],
    [
      'mqtt://broker.example/calls/{account}/%7Bevent%7D',
      { topic: ['calls/', { name: 'account' }, '/', { name: 'event' }] },
    ],
    ['mqtt://broker.example/{account}{pbx}', { topic: [{ name: 'account' }, { name: 'pbx' }] }],
  ])('%s', (url, parts) => {
    expect(problem(url)).toBeUndefined()
    expect(parseMqttUrl(url)).toMatchObject(parts)
  })
})

describe('refused with the fault:', () => {
  test.each([
    ['mqtt://broker.example', /^must have a topic/],
    ['mqtt://broker.example/', /^must have a topic/],
    ['mqtt:///calls', /^must be mqtt:\/\/host\/topic/],
    ['mqtt:broker.example/calls', /^must be mqtt:\/\/host\/topic/],
    ['mqtt://broker.example:99999/calls', /^must be mqtt:\/\/host\/topic/],
    ['mqtt://broker.example\\calls', /^must be mqtt:\/\/host\/topic/],
    ['mqtt://exa mple/calls', /has a space or a line break/],
    ['mqtt://broker.example/calls/#', /^has # in its topic/],
    ['mqtt://broker.example/calls%23', /^has # in its topic/],
    ['mqtt://broker.example/calls/+/x', /^has \+ in its topic/],
    ['mqtt://broker.example/calls%2B', /^has \+ in its topic/],
    [
      'mqtt://broker.example/calls/{number}',
      /^has {number} in its topic: it may have {account}, {pbx}, {event}, {call_id}, {extension}, {queue}, {trunk}$/,
    ],
    ['mqtt://broker.example/calls/{Event}', /^has {Event} in its topic/],
    ['mqtt://broker.example/calls/{}', /^has {} in its topic/],
    ['mqtt://broker.example/calls/{event', /^has .*{event in its topic/],
    ['mqtt://broker.example/calls/event}', /^has .*event} in its topic/],
    ['mqtt://broker.example/calls/{{event}}', /in its topic/],
    ['mqtt://broker.example/calls?x=1', /^has a query/],
    ['mqtt://broker.example/calls%00', /control character/],
    ['mqtt://broker.example/calls%C2%85', /control character/],
    ['mqtt://broker.example/calls%', /percent-encoding is not UTF-8 text/],
    ['mqtt://broker.example/calls%C3', /percent-encoding is not UTF-8 text/],
    ['mqtt://us%C3er:x@broker.example/calls', /percent-encoding that is not UTF-8 text/],
    ['mqtt://:secret@broker.example/calls', /password without a user/],
    [`mqtt://broker.example/${'x'.repeat(2_048)}`, /2048 characters/],
    ['mqtt://127.0.0.1/calls', /--allow-net loopback/],
    ['mqtt://127.1/calls', /--allow-net loopback/],
    ['mqtt://0x7f000001/calls', /--allow-net loopback/],
    ['mqtt://%31%32%37.0.0.1/calls', /--allow-net loopback/],
    ['mqtt://[::ffff:127.0.0.1]/calls', /--allow-net loopback/],
    ['mqtts://LOCALHOST:8883/calls', /--allow-net loopback/],
    ['mqtts://u:p@10.0.0.1/calls', /--allow-net private/],
    ['mqtt://169.254.169.254/calls', /--allow-net/],
  ])('%s', (url, message) => expect(problem(url)).toMatch(message))

  test('an allowed address is not', () => {
    expect(problem('mqtt://127.0.0.1:1883/calls', 'loopback')).toBeUndefined()
    expect(problem('mqtts://10.0.0.1/calls', 'private')).toBeUndefined()
  })
})

test('a URL in the log has neither its user nor more of its topic than the first word', () => {
  const logged = (url: string) => targetOf(url).logged
  expect(logged('mqtt://user:secret@broker.example/calls/{account}')).toBe('mqtt://broker.example:1883/calls/{account}')
  expect(logged('mqtts://broker.example/t0k3n-4f5a6b7c8d9e')).toBe('mqtts://broker.example:8883/…')
})

describe('the topic of an event', () => {
  const body = (data: object) => JSON.stringify({ time: '', data: { name: 'x', id: 'i', account: 'acme', ...data } })
  const of = (path: string, data: object) => {
    const parsed = parseMqttUrl(`mqtt://broker.example/${path}`)
    if ('problem' in parsed) throw new Error(parsed.problem)
    return topicOfEvent(parsed.topic, body(data))
  }
  const owner = { call: { id: 'c', handled_by: [{ extension: '101' }, { extension: '102' }] } }

  test.each([
    ['an event without a call', '{account}/{pbx}/{event}/{call_id}/{extension}', {}, 'acme/-/x/-/-'],
    ['a call', '{pbx}/{call_id}', { pbx: 'office', ...owner }, 'office/c'],
    ['the owner of a call', '{extension}', owner, '102'],
    ['a call of an outside owner', '{extension}', { call: { id: 'c', handled_by: [{ extension: null }] } }, '-'],
    ['a call that nobody handled', '{extension}', { call: { id: 'c', handled_by: [] } }, '-'],
    ['the phone of a stage', '{extension}', { ...owner, stage: { kind: 'user', target: '103' } }, '103'],
    ['a group', '{extension}', { ...owner, stage: { kind: 'group', target: '600' } }, '600'],
    ['an outside stage', '{extension}', { ...owner, stage: { kind: 'external', target: '+15550100' } }, '-'],
    ['a queue', '{extension}', { ...owner, stage: { kind: 'queue', target: 'sales' } }, '-'],
    ['who pressed hold', '{extension}', { ...owner, stage: null, by: { extension: '104' } }, '104'],
    ['a phone', '{extension}', { phone: { extension: '105' } }, '105'],
    ['an agent', '{extension}', { agent: { extension: '106' } }, '106'],
    ['the last queue of a call', '{queue}/{trunk}', { call: { id: 'c', queue: { name: 'sales' } } }, 'sales/-'],
    ['a call of no queue', '{queue}', { call: { id: 'c', queue: null } }, '-'],
    ['the queue of an agent', '{queue}', { agent: { extension: '106', queue: 'sales' } }, 'sales'],
    ['a queue that changed', '{queue}', { queue: { queue: 'sales' } }, 'sales'],
    ['a trunk', '{trunk}', { trunk: { trunk: 'carrier' } }, 'carrier'],
    ['a value that would add levels', '{pbx}', { pbx: '../a/b' }, '.._a_b'],
    ['a value with wildcards', '{pbx}/x', { pbx: '#+\u0000\n\u007f\u0085' }, '______/x'],
    ['half a character', '{pbx}', { pbx: 'a\ud800' }, 'a\ufffd'],
    ['an empty value', '{pbx}', { pbx: '' }, '-'],
    ['a value with braces, which is not a name', '{pbx}', { pbx: '{event}' }, '{event}'],
  ])('%s', (_, path, data, topic) => expect(of(path, data)).toBe(topic))

  test('is one topic for every example of an event', () => {
    const parsed = parseMqttUrl(`mqtt://broker.example/${TOPIC_NAMES.map((name) => `{${name}}`).join('/')}`)
    if ('problem' in parsed) throw new Error(parsed.problem)
    for (const example of EXAMPLES) {
      const levels = topicOfEvent(parsed.topic, JSON.stringify(example)).split('/')
      expect(levels).toHaveLength(TOPIC_NAMES.length)
      expect(levels[2]).toBe(example.data.name)
      expect(levels).not.toContain('')
    }
  })

  test('has as many levels as its URL, and no wildcard, whatever the values are', () => {
    const random = seededRandom(26)
    const pieces = ['/', '+', '#', '\u0000', '\u009f', '{event}', 'x', '..', '\ud800', 'ü', '%2F', '$']
    const any = () => Array.from({ length: random.int(6) }, () => random.pick(pieces)).join('')
    const parsed = parseMqttUrl(
      'mqtt://broker.example/a/{account}/{pbx}/{event}/{call_id}/{extension}/{queue}/{trunk}/b',
    )
    if ('problem' in parsed) throw new Error(parsed.problem)
    for (let at = 0; at < scaled(2_000); at += 1) {
      const topic = topicOf(parsed.topic, {
        account: any(),
        pbx: any(),
        event: any(),
        call_id: any(),
        extension: random.chance(0.2) ? null : any(),
        queue: any(),
        trunk: any(),
      })
      expect(topic.split('/')).toHaveLength(9)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are searched for
      expect(topic).not.toMatch(/[+#\u0000-\u001f\u007f-\u009f]|\/\//)
      expect(topic.isWellFormed()).toBe(true)
    }
  })
})

test.each([
  ['mqtt://b.example/calls/{extension}', true, undefined],
  ['mqtt://b.example/calls/{event}', false, undefined],
  ['https://b.example/{event}', true, undefined],
  ['mqtt://b.example/calls/{event}', true, /retain and \{event\} in the topic .* dial_started: leave \{event\} out/],
  ['mqtt://b.example/%7Bcall_id%7D/%7Bevent%7D', true, /\{event\} and \{call_id\} in the topic/],
])('%s with retain %p is warned of: %p', (url, retain, warning) => {
  if (warning === undefined) expect(retainWarning({ url, retain })).toBeUndefined()
  else expect(retainWarning({ url, retain })).toMatch(warning)
})
