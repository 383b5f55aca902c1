import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { BITRIX24 } from '../../../src/flows/presets/bitrix24.ts'
import { startBitrix24 } from '../../help/crm/bitrix24.ts'
import { runPreset } from '../../help/crm/run-flow.ts'
import { situationOf } from '../../help/crm/situations.ts'

const changed = (event: CallEvent, change: (data: Record<string, unknown>) => object): CallEvent => {
  const { time, data } = event.body
  const body = { time, data: { ...data, ...change({ ...data }) } } as CallEvent['body']
  return { ...event, name: body.data.name, body }
}

/** Two calls of outside parties. The second one was at two phones, one after the other; then it goes on in the first. */
function joinedCalls(): { readonly events: readonly CallEvent[]; readonly mergedId: string } {
  const { events } = situationOf('asterisk/a-inbound-answered*2')
  const [id = '', mergedId = ''] = new Set(events.map(({ callId }) => callId))
  const ofSurvivor = events.filter(({ callId }) => callId === id)
  const ofMerged = events.filter(({ callId }) => callId === mergedId)
  const upTo = (list: readonly CallEvent[], name: string) =>
    list.slice(0, list.findIndex((one) => one.name === name) + 1)
  const begun = upTo(ofMerged, 'dial_answered')
  const atSecondPhone = begun
    .filter(({ name }) => name.startsWith('dial_'))
    .map((event) =>
      changed(event, ({ stage }) => ({ stage: { ...(stage as object), id: `${event.id}-2`, target: '102' } })),
    )
  const talking = upTo(ofSurvivor, 'dial_answered')
  const joins = (event: CallEvent, more: object): CallEvent =>
    changed(event, ({ call }) => ({ ...more, call: { ...(call as object), merged_from: [mergedId] } }))
  const transfers = talking
    .slice(-1)
    .map((event) =>
      joins(event, { name: 'call_attended_transferred', transfer: { by: null, other_call_id: mergedId } }),
    )
  const rest = ofSurvivor.slice(talking.length).map((event) => joins(event, {}))
  return { events: [...talking, ...begun, ...atSecondPhone, ...transfers, ...rest], mergedId }
}

test('a call of an outside party that goes on in another outside call keeps no card, wherever it was shown', async () => {
  const stub = startBitrix24()
  const { events, mergedId } = joinedCalls()
  try {
    const users = { '101': stub.userAt(0), '102': stub.userAt(1) }
    const parameters = { ...stub.parameters, users }
    const end = await runPreset({ preset: BITRIX24, parameters, webhookUrl: stub.url, events })
    expect({ failures: end.failures, refusals: stub.refusals }).toEqual({ failures: [], refusals: [] })
    expect(stub.shown?.().get(mergedId)).toEqual(new Set([stub.userAt(0), stub.userAt(1)]))
    expect(stub.cards?.().get(mergedId)).toEqual(new Set())
    expect(stub.calls()).toHaveLength(1)
  } finally {
    stub.stop()
  }
})
