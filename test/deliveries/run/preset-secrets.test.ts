import { describe, expect, test } from 'bun:test'
import { testFlow } from '../../../src/deliveries/log/flow-test.ts'
import { ownRequestsOf } from '../../../src/deliveries/sending/webhook-cache.ts'
import { ALL_EXAMPLES } from '../../../src/events/samples.ts'
import { presetByName } from '../../../src/flows/presets/catalog.ts'
import { createSetupService } from '../../../src/flows/setup/service.ts'
import { newStepRequests } from '../../../src/flows/step-request.ts'
import { createLog } from '../../../src/lib/log.ts'
import { nowUs } from '../../../src/lib/time.ts'
import { newExchange } from '../../../src/outbound/exchange.ts'
import { newGuardedRequests } from '../../../src/outbound/guarded-request.ts'
import { createOptionsService } from '../../../src/webhooks/options/service.ts'
import { authorizerOf, presetOptionsOf } from '../../help/crm/preset-options.ts'
import type { CrmRequest, CrmStub } from '../../help/crm/server.ts'
import { situationOf } from '../../help/crm/situations.ts'
import { STUBS } from '../../help/crm/stubs.ts'
import { TEMPLATES } from '../../help/templates.ts'
import { newFlowRig } from './flow-rig.ts'
import { ACCOUNT, allowing } from './rig.ts'

/** A CRM that repeats all that it was sent: no log, answer, preview or event has a secret of it. */

/** Enough for each preset; the pace of some CRMs is two requests a second. */
const KINDS: ReadonlySet<string> = new Set(['call_started', 'call_ended', 'call_saved'])

const send = newGuardedRequests({ allow: allowing('loopback'), proxy: undefined })

const echo = ({ headers, text, path, query }: CrmRequest): string =>
  JSON.stringify({ headers: Object.fromEntries(headers), text, path, query: String(query) })

/** Returns the secrets of a webhook, and how they are sent. */
function secretsOf(stub: CrmStub, name: string): string[] {
  const { parameters, authorization } = stub
  const plain = (presetByName(name)?.parameters ?? []).flatMap((one) =>
    one.type === 'secret' && typeof parameters[one.name] === 'string' ? [String(parameters[one.name])] : [],
  )
  const users = [`${parameters.email}/token`, parameters.username]
  const pairs = users.flatMap((user) => plain.map((one) => Buffer.from(`${user}:${one}`).toString('base64')))
  return [...plain, ...pairs, ...(authorization === undefined ? [] : [authorization])]
}

describe.each(STUBS.map(({ label, preset, start }) => [label, preset, start] as const))('%s', (_, name, start) => {
  test('shows no secret', async () => {
    const stub = start()
    const { events: all } = situationOf('asterisk/m-recorded')
    const events = all.filter(({ name: kind }) => KINDS.has(kind))
    const { preset, whole, options } = presetOptionsOf(stub, name, events)
    const authorizer = authorizerOf(stub)
    const lines: string[] = []
    const log = createLog('debug', { readable: false, write: (line) => lines.push(line) })
    try {
      await using rig = await newFlowRig({ authorizer, log })
      const { store } = rig
      await rig.setUrls(stub.url)
      await store.webhooks.optionsReplace({ accountId: ACCOUNT, url: stub.url, options, nowUs: nowUs() })
      rig.emitter.emit('webhooks', ACCOUNT)
      rig.wake()

      // Every step fails, is repeated and is logged, each with an answer that has all of its request.
      stub.failWith((request, at) => ({ status: [400, 404, 200][at % 3] ?? 400, body: echo(request) }))
      const shown: unknown[] = []
      for (const { callId, body } of events) {
        const id = await rig.event(body.data.name, callId, (data) => Object.assign(data, body.data, { id: data.id }))
        // No delivery: the preset does not ask for this kind.
        if (id !== 0) shown.push(await rig.ended(id))
      }

      const samples = new Map(ALL_EXAMPLES.map((one) => [one.data.name, JSON.stringify(one)]))
      const service = createOptionsService({
        webhooks: store.webhooks,
        authorizations: store.authorizations,
        templates: TEMPLATES,
        samples,
        allow: () => [],
      })
      shown.push(await service.list(ACCOUNT))
      const setup = createSetupService({
        calls: { callList: async () => [] },
        samples,
        webhooks: store.webhooks,
        events: store.log,
        templates: TEMPLATES,
        exchange: newExchange(send),
        authorizer,
      })
      const trial = { url: stub.url, ...whole }
      if (preset.check !== null) for (let at = 0; at < 4; at += 1) shown.push(await setup.check(ACCOUNT, trial))
      if (preset.directory !== null) shown.push(await setup.directory(ACCOUNT, trial))
      const previewed = events.map((one) => ({ name: one.name, callId: one.callId, body: JSON.stringify(one.body) }))
      shown.push(await setup.previewEvents(ACCOUNT, { url: stub.url, flow: whole, events: previewed }))
      const listed = await store.webhooks.webhookGetByUrl(ACCOUNT, stub.url)
      if (listed === undefined) throw new Error('the webhook is gone')
      const { flow: prepared } = ownRequestsOf(listed, { templates: TEMPLATES, purpose: 'trying' })
      if (prepared === undefined) throw new Error('it has no flow')
      const signing = { sign: () => '', signStream: async () => '' }
      for (const isSent of [false, true])
        shown.push(
          await testFlow(
            {
              templates: TEMPLATES,
              send: newStepRequests(send),
              authorizer,
              sample: { event: 'call_ended', body: samples.get('call_ended') ?? '' },
            },
            { ...prepared, ...signing, id: listed.id, accountId: ACCOUNT, url: stub.url },
            { send: isSent },
          ),
        )

      const text = JSON.stringify(shown)
      expect(text).toContain('call_ended')
      expect(stub.requests.length).toBeGreaterThan(0)
      for (const secret of secretsOf(stub, name)) {
        expect(text.includes(secret) ? `${secret}: ${around(text, secret)}` : '').toBe('')
        expect(lines.filter((line) => line.includes(secret))).toEqual([])
      }
    } finally {
      stub.stop()
    }
  })
})

const around = (text: string, part: string): string =>
  text.slice(Math.max(0, text.indexOf(part) - 200), text.indexOf(part) + 50)
