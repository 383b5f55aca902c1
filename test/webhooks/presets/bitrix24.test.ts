import { expect, test } from 'bun:test'
import { presetByName } from '../../../src/webhooks/presets/catalog.ts'
import { startBitrix24 } from '../../help/crm/bitrix24.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

test.each([
  ['an incoming call that a user has answered', 'asterisk/a-inbound-answered'],
  ['an outgoing call', 'asterisk/f-outbound-answered'],
])('%s who has left the company goes to the responsible user', async (_, recording) => {
  const stub = startBitrix24()
  const preset = presetByName('bitrix24')
  if (preset === undefined) throw new Error('there is no such preset')
  const { events } = situationOf(recording)
  const parameters = { ...stub.parameters, users: { '101': '999', '102': '999' } }
  try {
    const { failures } = await runPreset({ preset, parameters, webhookUrl: stub.url, events })
    expect(failures).toEqual([])
    expect(stub.calls().map(({ user, isAnswered }) => ({ user, isAnswered }))).toEqual([
      { user: '1278', isAnswered: true },
    ])
  } finally {
    stub.stop()
  }
})
