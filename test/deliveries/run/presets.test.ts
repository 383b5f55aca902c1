import { describe, expect, test } from 'bun:test'
import { FURTHER_NAMES } from '../../../src/lib/event-kinds.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { separateSecrets } from '../../../src/webhooks/flows/flow-secrets.ts'
import { secretParametersOf } from '../../../src/webhooks/options/flow-option.ts'
import { presetByName } from '../../../src/webhooks/presets/catalog.ts'
import { expectCalls, expectCards, usersOf } from '../../help/crm/check.ts'
import type { CrmStub } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { storeEvents } from '../../help/store.ts'
import { newFlowRig } from './flow-rig.ts'
import { ACCOUNT } from './rig.ts'

const FILE = new TextEncoder().encode('RIFF of a recording')
const openRecording = async () => ({
  size: FILE.byteLength,
  mediaType: 'audio/wav',
  read: () => new Blob([FILE]).stream(),
  close: async () => {},
})

/** Stores the events of a recording of a PBX, one after the other, and sends them to the stub of a CRM. */
async function playThrough(stub: CrmStub, name: string, recording: string) {
  const preset = presetByName(name)
  if (preset === undefined) throw new Error(`there is no preset ${name}`)
  const situation = situationOf(recording)
  const { authorization: header = '' } = stub
  const authorizer = { authorize: async () => ({ header }), renew: async () => ({ header }) }
  await using rig = await newFlowRig({ openRecording, authorizer })
  await rig.setUrls(stub.url)
  const parameters = { ...stub.parameters, users: usersOf(stub, situation.events) }
  const whole = { preset: name, parameters }
  const { flow, secrets } = separateSecrets(whole, secretParametersOf(whole))
  const given = Object.entries(secrets).flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]))
  const options = {
    ...DEFAULT_OPTIONS,
    events: FURTHER_NAMES.filter((kind) => preset.events.some((one) => one === kind)),
    flow,
    flowSecrets: Object.fromEntries(given),
  }
  const replaced = await rig.store.webhooks.optionsReplace({
    accountId: ACCOUNT,
    url: stub.url,
    options,
    nowUs: nowUs(),
  })
  if (replaced === 'unlisted' || 'unknownHeaders' in replaced) throw new Error('the flow was not stored')
  rig.emitter.emit('webhooks')
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
