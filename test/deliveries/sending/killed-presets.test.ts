import { describe, expect, test } from 'bun:test'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { newDelivery } from '../../../src/deliveries/queue/delivery.ts'
import { ownRequestsOf } from '../../../src/deliveries/sending/webhook-cache.ts'
import { newStepRequests } from '../../../src/flows/step-request.ts'
import { createFlowTurns } from '../../../src/flows/turn.ts'
import { newUuid } from '../../../src/lib/id.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { stateNumber } from '../../../src/store/operations/delivery-state.ts'
import { createWebhookService } from '../../../src/webhooks/service.ts'
import { emptyFolder } from '../../help/app.ts'
import { expectCalls } from '../../help/crm/check.ts'
import { authorizerOf, openAnyRecording, presetOptionsOf } from '../../help/crm/preset-options.ts'
import type { CrmRequest, CrmStub } from '../../help/crm/server.ts'
import { type Situation, situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { type OpenStore, openStore, storeEvents } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { ACCOUNT, allowing, listed } from '../run/rig.ts'

// Processes die on a real store while they make the steps of each preset. The next one knows what the file of the store
// has, and nothing else.

/** Its requests go to the stub of each run instead. */
const LISTED = 'https://crm.example/'
const send = newStepRequests(newGuardedRequests({ allow: allowing('loopback'), timeoutMs: 3_600_000 }))

/** Far more than a call causes. */
const MOST_REQUESTS = 200

/** When processes die: after they have stored each answer, or once, with the answer to a request (counted from 0). */
type Death = 'after each answer' | { readonly withAnswer: number }

/** Writes the store that the runs of a preset begin with: its webhook, and the deliveries of the events. */
async function writeStore(path: string, stub: CrmStub, name: string, { events }: Situation) {
  const store = openStore(path)
  await createWebhookService({ webhooks: store.webhooks, onChanged: () => {} }).replace(ACCOUNT, [listed(LISTED)], null)
  const { options } = presetOptionsOf(stub, name, events)
  await store.webhooks.optionsReplace({ accountId: ACCOUNT, url: LISTED, options, nowUs: nowUs() })
  const stored = await storeEvents(
    store,
    events.map(({ callId, name, sequence, body }) => {
      const atUs = nowUs()
      const uuid = newUuid(atUs)
      return {
        uuid,
        callId,
        name,
        sequence,
        atUs,
        body: JSON.stringify({ ...body, data: { ...body.data, id: uuid } }),
      }
    }),
  )
  await store.stop()
  return stored.flatMap((event) => event.deliveries.map((delivery) => newDelivery(event, delivery)))
}

/** Makes all turns of the deliveries, with a death. Returns the requests that the CRM got. */
async function play(path: string, stub: CrmStub, deliveries: Awaited<ReturnType<typeof writeStore>>, death?: Death) {
  const begin = async (store: OpenStore) => {
    const record = await store.webhooks.webhookGetByUrl(ACCOUNT, LISTED)
    const flow = record && ownRequestsOf(record, { templates: TEMPLATES, purpose: 'sending' }).flow
    if (record === undefined || flow === undefined) throw new Error('the webhook has no flow')
    const signing = { sign: () => 'v1,x', signStream: async () => 'v1,x' }
    const webhook = { ...flow, ...signing, id: record.id, accountId: ACCOUNT, url: stub.url }
    const authorizer = authorizerOf(stub)
    const makeTurn = createFlowTurns({
      flows: store.flows,
      ownership: OWNS_EVERYTHING,
      events: store.log,
      send,
      authorizer,
      openRecording: openAnyRecording,
      nowUs,
    })
    return { store, webhook, makeTurn }
  }
  let living = await begin(openStore(path))
  const die = async () => {
    await living.store.stop()
    living = await begin(openStore(path))
  }
  for (const delivery of deliveries)
    for (let isEnded = false; !isEnded; ) {
      const { store, webhook, makeTurn } = living
      const before = stub.requests.length
      const { outcome, turn } = await makeTurn(webhook, delivery, {})
      expect(['advanced', 'delivered', 'skipped']).toContain(outcome.kind)
      if (stub.requests.length > MOST_REQUESTS) throw new Error('the flow does not end: its progress is lost')
      // No step begins with this event.
      if (turn === undefined) break
      const isLost = typeof death === 'object' && before <= death.withAnswer && stub.requests.length > death.withAnswer
      if (isLost) {
        await die()
        continue
      }
      isEnded = outcome.kind !== 'advanced'
      await store.flows.flowRecord({
        deliveryId: delivery.id,
        webhookId: webhook.id,
        callId: delivery.callId,
        generation: delivery.generation,
        state: stateNumber(isEnded ? 'delivered' : 'pending'),
        tries: isEnded ? 1 : 0,
        attemptsMade: turn.requests,
        dueSteadyUs: null,
        endedUs: isEnded ? nowUs() : null,
        attempts: turn.attempts,
        progress: turn.progress,
        kept: turn.kept,
        forgotten: turn.forgotten,
        nowUs: nowUs(),
      })
      if (death === 'after each answer') await die()
    }
  await living.store.stop()
  return stub.requests.map(shown)
}

const shown = ({ method, path, query, text }: CrmRequest): string => `${method} ${path}?${query} ${text}`

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, name, start) => {
  test.each([
    ['asterisk/ast13-freepbx-recorded', 'and with each answer'],
    ['asterisk/ast13-freepbx-attended-refer', 'alone'],
  ])('%s: processes die after each answer, %s', async (recording, and) => {
    using folder = emptyFolder()
    const situation = situationOf(recording)
    const prepared = join(folder.path, 'prepared.db')
    const template = start()
    template.stop()
    const deliveries = await writeStore(prepared, template, name, situation)
    let runs = 0
    const played = async (death?: Death) => {
      const path = join(folder.path, `run-${runs++}.db`)
      copyFileSync(prepared, path)
      const stub = start()
      try {
        const requests = await play(path, stub, deliveries, death)
        expect({ death, refusals: stub.refusals }).toEqual({ death, refusals: [] })
        if (typeof death !== 'object' || stub.repeats !== 'unknown') expectCalls(stub, situation)
        return requests
      } finally {
        stub.stop()
      }
    }
    const undisturbed = await played()
    // A step that is done is not made again, and later ones have every value that it has kept.
    expect(await played('after each answer')).toEqual(undisturbed)
    if (and === 'alone') return
    for (const [at, request] of undisturbed.entries()) {
      const requests = await played({ withAnswer: at })
      expect(requests.slice(0, at + 1)).toEqual(undisturbed.slice(0, at + 1))
      // It is made again, unless the flow looks first.
      expect(undisturbed.slice(0, at + 1)).toContain(requests[at + 1] ?? request)
    }
  })
})
