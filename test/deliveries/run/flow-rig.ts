import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import type { EventKind } from '../../../src/events/kinds.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import type { Authorizer } from '../../../src/flows/authorizer.ts'
import { separateSecrets } from '../../../src/flows/flow-secrets.ts'
import type { NewFlow } from '../../../src/flows/model.ts'
import { newStepRequests } from '../../../src/flows/step-request.ts'
import { createFlowTurns, type MakeTurn } from '../../../src/flows/turn.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import type { OpenRecording } from '../../../src/outbound/upload.ts'
import type { DeliveryDetailRow } from '../../../src/store/operations/log.ts'
import type { WebhookOptionsRecord } from '../../../src/store/operations/webhooks.ts'
import { DEFAULT_OPTIONS } from '../../../src/store/webhook-options.ts'
import { storeEvents } from '../../help/store.ts'
import { ACCOUNT, allowing, newRig } from './rig.ts'

const NO_AUTHORIZER: Authorizer = {
  authorize: () => Promise.reject(new Error('no flow of this test has an authorization')),
  renew: () => Promise.reject(new Error('no flow of this test has an authorization')),
}
const NO_RECORDINGS: OpenRecording = () => Promise.reject(new Error('no flow of this test has an upload'))

type FlowRigOptions = Partial<
  Pick<Parameters<typeof createFlowTurns>[0], 'authorizer' | 'openRecording' | 'newBoundary'>
> &
  Parameters<typeof newRig>[0] & {
    /** How long a request may take. */
    readonly requestMs?: number
  }

/** A rig whose webhooks have flows. */
export async function newFlowRig(options: FlowRigOptions = {}) {
  const {
    authorizer = NO_AUTHORIZER,
    openRecording = NO_RECORDINGS,
    requestMs = 3_600_000,
    newBoundary,
    ...rest
  } = options
  let makeTurn: MakeTurn | undefined
  const rig = await newRig({
    scheduleMs: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1],
    ...rest,
    asleep: true,
    makeTurn: (...turn) => {
      if (makeTurn === undefined) throw new Error('the rig is not ready')
      return makeTurn(...turn)
    },
  })
  const send = newStepRequests(newGuardedRequests({ allow: allowing('loopback'), timeoutMs: requestMs }))
  makeTurn = createFlowTurns({
    flows: rig.store.flows,
    ownership: OWNS_EVERYTHING,
    events: rig.store.log,
    send,
    authorizer,
    openRecording,
    nowUs,
    ...(newBoundary === undefined ? {} : { newBoundary }),
  })
  const { store, emitter, clock } = rig
  let sequence = 0
  return {
    ...rig,
    /** Gives a URL of the list a flow, and begins to send. */
    async setFlow(url: string, flow: NewFlow, more: Partial<WebhookOptionsRecord> = {}): Promise<void> {
      const { flow: without, secrets } = separateSecrets(flow, [])
      const chosen = { ...DEFAULT_OPTIONS, events: ['recording_saved'], ...more, flow: without, flowSecrets: secrets }
      const replaced = await store.webhooks.optionsReplace({ accountId: ACCOUNT, url, options: chosen, nowUs: nowUs() })
      if (replaced === 'unlisted' || 'unknownHeaders' in replaced) throw new Error('the flow was not stored')
      emitter.emit('webhooks', ACCOUNT)
      rig.wake()
    },
    /** Stores an event of a call, with the example of its kind as body. Returns the id of its delivery. */
    async event(name: EventKind, callId: string, change: (data: Data) => void = () => {}): Promise<number> {
      sequence += 1
      const atUs = nowUs()
      const uuid = newUuid(atUs)
      const example = EXAMPLES.find((one) => one.data.name === name)
      // Tests change fields of the body, so they get a copy without read-only types.
      const body = structuredClone(example) as unknown as { time: string; data: Data }
      body.data.id = uuid
      body.data.call.id = callId
      change(body.data)
      const event = { uuid, callId, name, sequence, atUs, body: JSON.stringify(body) }
      const stored = await storeEvents(store, [event], { nowSteadyUs: clock.steadyUs() })
      emitter.emit('stored', stored)
      return stored[0]?.deliveries[0]?.id ?? 0
    },
    async delivery(id: number): Promise<DeliveryDetailRow> {
      const found = await store.log.deliveryGet(ACCOUNT, id)
      if (found === undefined) throw new Error(`there is no delivery ${id}`)
      return found
    },
    /** Waits for the end of a delivery. */
    async ended(id: number): Promise<DeliveryDetailRow> {
      for (;;) {
        const found = await store.log.deliveryGet(ACCOUNT, id)
        if (found !== undefined && found.state !== 'pending') return found
        await Bun.sleep(5)
      }
    },
    [Symbol.asyncDispose]: rig[Symbol.asyncDispose].bind(rig),
  }
}

/** The data of a body; tests change its fields. */
type Data = { id: string; call: Record<string, unknown> } & Record<string, unknown>
