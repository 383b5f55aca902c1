import { describe, expect, test } from 'bun:test'
import { dialledBy, factsOf } from '../../src/calls/event-facts.ts'
import type { CallEvent } from '../../src/events/bodies.ts'
import { EXAMPLES } from '../../src/events/samples.ts'

const stage = (id: string, kind: string, target: string | null, parentId: string | null = null) => ({
  id,
  kind,
  target,
  parentId,
})
const STAGES = [
  stage('group', 'group', '600'),
  stage('anna', 'user', '101', 'group'),
  stage('ben', 'user', '102', 'group'),
  stage('mobile', 'external', '+491701234567', 'group'),
  stage('carl', 'user', '103'),
  stage('unknown', 'user', null),
]

test.each([
  ['a user stage', 'anna', ['anna']],
  ['an outside stage', 'mobile', ['mobile']],
  ['a group', 'group', ['anna', 'ben', 'mobile']],
  ['none', undefined, ['group', 'anna', 'ben', 'mobile', 'carl', 'unknown']],
])('the stages of %s', (_, id, expected) => expect(dialledBy(STAGES, id).map((one) => one.id)).toEqual(expected))

/** The event of an example, with these stages. */
function eventOf(name: string, stageId?: string): CallEvent {
  const body = EXAMPLES.find(({ data }) => data.name === name)
  if (body === undefined) throw new Error(`there is no example of ${name}`)
  const { id, sequence, call } = body.data
  return { id, name: body.data.name, callId: call.id, sequence, atUs: 1, body, dialled: dialledBy(STAGES, stageId) }
}

describe('the facts of an event', () => {
  test('have the E.164 form of an outside number that was dialled', () => {
    const { body, ...event } = eventOf('call_ended')
    const facts = factsOf({
      ...event,
      body,
      dialled: [{ kind: 'external', target: '01701234567', e164: '+491701234567' }],
    })
    expect(facts.number).toEqual(['+4930123456', '+49301110', '01701234567', '+491701234567'])
  })

  test('have the E.164 form of the number that was called from outside', () => {
    const event = eventOf('call_started')
    expect(factsOf({ ...event, didE164: '+4930222' }).did).toEqual(['+49301110', '+4930222'])
    const { call } = event.body.data
    const to = { ...call.to, number: '030 1110', e164: '+49301110' }
    const local = { ...event.body.data, call: { ...call, did: '030 1110', to } } as typeof event.body.data
    const ofRecord = { ...event, body: { ...event.body, data: local } as CallEvent['body'] }
    expect(factsOf(ofRecord).did).toEqual(['030 1110', '+49301110'])
    const outbound = { ...event.body.data, call: { ...call, did: null } } as typeof event.body.data
    expect(factsOf({ ...event, body: { ...event.body, data: outbound } as CallEvent['body'] }).did).toEqual([])
  })

  test('have the own target of its stage, and the numbers of the call', () => {
    const facts = factsOf(eventOf('dial_started', 'mobile'))
    expect(facts).toMatchObject({ direction: 'inbound', pbx: 'office', queue: null, did: ['+49301110'], result: null })
    expect(facts.number).toEqual(['+4930123456', '+49301110', '+491701234567'])
    expect(facts.extension).toEqual([])
    expect(factsOf(eventOf('dial_ended', 'group')).extension).toEqual(['101', '102'])
  })

  test('have every extension that is part of the call so far, and its result once it has one', () => {
    const facts = factsOf(eventOf('call_ended'))
    expect(facts.extension).toEqual(['101', '102', '103'])
    expect(facts.result).toBe('answered')
    expect(factsOf({ ...eventOf('call_ended'), dialled: [] }).extension).toEqual(['101', '102'])
  })
})
