import { expect, test } from 'bun:test'
import { AMOCRM } from '../../../src/flows/presets/amocrm.ts'
import { startAmocrm } from '../../help/crm/amocrm.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

// The documentation says that a call is not added for a number without a card, and shows neither code nor title.
test.each([
  ['a code', { status: 263, title: 'Not found' }],
  ['a title', { status: 404, title: 'Entity not found' }],
])('a number without a card, told by %s, becomes an incoming lead', async (_, error) => {
  const stub = startAmocrm()
  stub.failWith(({ path }) =>
    path === '/api/v4/calls'
      ? { status: 400, body: { _total_items: 0, errors: [{ request_id: '0', ...error }], _embedded: { calls: [] } } }
      : undefined,
  )
  const { events } = situationOf('asterisk/a-inbound-answered')
  const { failures } = await runPreset({
    preset: AMOCRM,
    parameters: { ...stub.parameters },
    webhookUrl: stub.url,
    events,
    authorization: stub.authorization,
  })
  expect([stub.refusals, failures, stub.calls().length]).toEqual([[], [], 1])
  stub.stop()
})
