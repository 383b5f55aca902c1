import { expect, test } from 'bun:test'
import { ESPOCRM } from '../../../src/flows/presets/espocrm.ts'
import { startEspocrm } from '../../help/crm/espocrm.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

const MISSED = 'asterisk/c-inbound-no-answer'
test.each([
  ['is open for the owner', MISSED, true, ['Not Started u1']],
  [
    'is completed when the contact has called again and was answered',
    `${MISSED}+a-inbound-answered`,
    true,
    ['Completed u1'],
  ],
  ['is not made without the parameter', `${MISSED}+a-inbound-answered`, false, []],
])('the task for a missed call in EspoCRM %s', async (_, recordings, callback, tasks) => {
  const { events } = situationOf(recordings)
  for (let kill = -1; ; kill += 1) {
    const stub = startEspocrm()
    const parameters = { ...stub.parameters, callback, users: { 101: 'u1' } }
    const killedAfter = new Set(kill < 0 ? [] : [kill])
    const { attempts } = await runPreset({ preset: ESPOCRM, parameters, webhookUrl: stub.url, events, killedAfter })
    expect([stub.refusals, stub.tasks()]).toEqual([[], tasks])
    stub.stop()
    if (kill >= attempts) break
  }
})

test('a role without tasks costs no call', async () => {
  const stub = startEspocrm()
  stub.failWith(({ path }) => (path.startsWith('/api/v1/Task') ? { status: 403, body: '' } : undefined))
  const { events } = situationOf(`${MISSED}+a-inbound-answered`)
  const parameters = { ...stub.parameters, callback: true, users: { 101: 'u1' } }
  const { failures } = await runPreset({ preset: ESPOCRM, parameters, webhookUrl: stub.url, events })
  expect([failures, stub.calls().length, stub.tasks()]).toEqual([[], 2, []])
  stub.stop()
})
