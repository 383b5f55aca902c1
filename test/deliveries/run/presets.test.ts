import { describe, expect, test } from 'bun:test'
import { newUuid } from '../../../src/lib/id.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { expectCalls, expectCards } from '../../help/crm/check.ts'
import { authorizerOf, openAnyRecording, presetOptionsOf } from '../../help/crm/preset-options.ts'
import type { CrmStub } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { storeEvents } from '../../help/store.ts'
import { newFlowRig } from './flow-rig.ts'
import { ACCOUNT } from './rig.ts'

/** Stores the events of a recording of a PBX, one after the other, and sends them to the stub of a CRM. */
async function playThrough(stub: CrmStub, name: string, recording: string) {
  const situation = situationOf(recording)
  const { options } = presetOptionsOf(stub, name, situation.events)
  await using rig = await newFlowRig({ openRecording: openAnyRecording, authorizer: authorizerOf(stub) })
  await rig.setUrls(stub.url)
  const replaced = await rig.store.webhooks.optionsReplace({
    accountId: ACCOUNT,
    url: stub.url,
    options,
    nowUs: nowUs(),
  })
  if (replaced === 'unlisted' || 'unknownHeaders' in replaced) throw new Error('the flow was not stored')
  rig.emitter.emit('webhooks', ACCOUNT)
  rig.wake()
  const failed: unknown[] = []
  for (const event of situation.events) {
    const atUs = nowUs()
    const uuid = newUuid(atUs)
    const body = JSON.stringify({ ...event.body, data: { ...event.body.data, id: uuid } })
    const { callId, name, sequence } = event
    const stored = await storeEvents(rig.store, [{ uuid, callId, name, sequence, atUs, body }], {
      nowSteadyUs: rig.clock.steadyUs(),
    })
    rig.emitter.emit('stored', stored)
    for (const { id } of stored.flatMap(({ deliveries }) => deliveries)) {
      const { state, attempts } = await rig.ended(id)
      if (state !== 'delivered') failed.push({ name, state, attempts })
    }
  }
  return { situation, failed }
}

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))(
  '%s, through the service',
  (_, name, start) => {
    test.each([
      'asterisk/ast13-freepbx-recorded',
      'asterisk/ast13-freepbx-attended-refer',
      'asterisk/h3-ring-group-abandoned',
    ])('%s', async (recording) => {
      const stub = start()
      try {
        const { situation, failed } = await playThrough(stub, name, recording)
        expect({ failed, refusals: stub.refusals }).toEqual({ failed: [], refusals: [] })
        expectCalls(stub, situation)
        expectCards(stub, situation)
      } finally {
        stub.stop()
      }
    })
  },
)
