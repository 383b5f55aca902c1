import { expect, test } from 'bun:test'
import { Value } from '@sinclair/typebox/value'
import { customBatch, saidWithoutCall } from '../../../src/calls/ingest/custom-events.ts'
import { BODIES } from '../../../src/events/bodies.ts'
import { callIdOf } from '../../../src/events/kinds.ts'

test('what the dialplan says outside of calls is for the account of the PBX, and of no call', () => {
  const custom = { name: 'Survey', fields: { digit: '5' } }
  const at = { atUs: 1_795_213_000_000_000, arrivedUs: 1 }
  const said = saidWithoutCall([
    { ...at, kind: 'tick' },
    { ...at, kind: 'custom_without_call', custom },
  ])
  const source = { pbx: 'office', account: 'acme', accountId: 7, newId: () => 'an id', nowSteadyUs: 1 }
  const [part] = customBatch(said, source).parts
  const [event, ...others] = part?.events ?? []
  if (event === undefined) throw new Error('there is no event')
  expect([part?.accountId, others, event.sequence]).toEqual([7, [], 0])
  expect(callIdOf({ name: 'custom', callId: event.callId })).toBeNull()
  const body = JSON.parse(event.body)
  expect(body.data).toMatchObject({ account: 'acme', pbx: 'office', call: null, sequence: null, custom })
  expect(
    Value.Check(BODIES.custom, { ...body, data: { ...body.data, id: '01a22411-3655-7177-83bb-d98aabb5a50d' } }),
  ).toBe(true)
})
