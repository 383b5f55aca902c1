import { Elysia } from 'elysia'
import { auditRoutes, peopleRoutes } from '../auth/auth.ts'
import { createStoredFacts, eraseRoutes } from '../calls/calls.ts'
import {
  createDeliveryService,
  createReplayFilter,
  createReplayService,
  createTestSender,
  deliveryRoutes,
  type Emitter,
} from '../deliveries/deliveries.ts'
import { exampleTexts, flowSample } from '../events/samples.ts'
import { createSetupService, setupRoutes } from '../flows/flows.ts'
import { hasCertificates } from '../lib/certificate-file.ts'
import type { NowUs } from '../lib/time.ts'
import { retainWarning } from '../outbound/mqtt-url.ts'
import { createPbxService, type PbxList, pbxRoutes } from '../pbx/pbx.ts'
import type { Recordings } from '../recordings/recordings.ts'
import { stateRoutes } from '../states/states.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import { webhookHealthRoutes } from '../web/server/webhook-health.ts'
import { webhookRoutes } from '../webhooks/routes.ts'
import { createOptionsService, createWebhookService, optionsRoutes } from '../webhooks/webhooks.ts'
import type { createAccess } from './access.ts'
import type { Config } from './config.ts'
import type { createRequests } from './requests.ts'
import { type ServiceFacts, serviceRoutes } from './service-routes.ts'
import { allowListOf } from './settings.ts'

// The part of the API that commands ask for. The service has it beside its other routes; where no service runs, a
// command has it in its own process, over the store.

type Dependencies = {
  readonly config: Pick<Config, 'allowNets' | 'publicUrl'>
  readonly store: Store
  readonly access: ReturnType<typeof createAccess>
  readonly requests: ReturnType<typeof createRequests>
  readonly emitter: Emitter
  readonly templates: TemplateRenderer
  readonly pbxs: PbxList
  readonly recordings: Recordings
  readonly facts: ServiceFacts
  readonly nowUs: NowUs
  /** The clock on which deliveries wait. */
  readonly steadyUs: NowUs
  /** Returns whether this process sends the deliveries of an account. */
  readonly isOwner: (accountId: number) => boolean
  readonly pbxStates: Parameters<typeof createPbxService>[0]['states']
  readonly presentStates: Parameters<typeof stateRoutes>[1]
  readonly statuses: Parameters<typeof webhookHealthRoutes>[1]['statuses']
  readonly callsOfNumber: (accountId: number, number: string) => Promise<readonly string[]>
  /** Waits until the limits of the running service allow a request; absent where there is none. */
  readonly reserve: Parameters<typeof createTestSender>[0]['reserve']
  /** Called after numbers were erased, to forget who they are. */
  readonly onErased: () => void
  /** Called after a replay was added. */
  readonly onReplay: () => void
}

/** Creates the routes that commands ask for, with their services. */
export function createApi(parts: Dependencies) {
  const { config, store, access, requests, emitter, templates, pbxs: list, recordings, nowUs, steadyUs } = parts
  const { isOwner, reserve } = parts
  const { auth, audit, people } = access
  const { allow, attempts, exchange, sendStep, authorizer } = requests
  const onChanged = (accountId: number) => emitter.emit('webhooks', accountId)
  const webhooks = createWebhookService({ webhooks: store.webhooks, onChanged })
  const options = createOptionsService({
    authorizations: store.authorizations,
    webhooks: store.webhooks,
    templates,
    samples: exampleTexts(),
    allow: () => allowListOf(config.allowNets),
    onChanged,
  })
  const setup = createSetupService({
    webhooks: store.webhooks,
    events: store.log,
    calls: store.calls,
    phones: (accountId) => parts.presentStates.list(accountId, 'phone'),
    samples: exampleTexts(),
    templates,
    exchange,
    authorizer,
  })
  const deliveries = createDeliveryService({
    store,
    templates,
    onDue: (ids) => emitter.emit('due', ids),
    isOwner,
    onCancelled: (ids) => emitter.emit('deliveries', ids),
    callsOfNumber: parts.callsOfNumber,
    steadyUs,
  })
  const wantedOf = createReplayFilter({ webhooks: store.webhooks, factsOf: createStoredFacts(store.log) })
  const replays = createReplayService({ store, wantedOf, nowUs, onAdded: parts.onReplay })
  const sendTest = createTestSender({
    store,
    attempt: attempts.attempt,
    templates,
    ...(reserve && { reserve }),
    isOwner,
    flow: { templates, send: sendStep, authorizer, sample: flowSample() },
  })
  const { pbxStates: states } = parts
  const pbxs = createPbxService({ store, list, states, canRead: hasCertificates, allowed: recordings.allowed })
  const linkBase = (request: Request) =>
    config.publicUrl ?? (auth.isOperators(request) ? (parts.facts.url ?? undefined) : new URL(request.url).origin)
  const routes = new Elysia({ name: 'api', normalize: false, encodeSchema: false })
    .use(serviceRoutes(auth, parts.facts))
    .use(peopleRoutes({ auth, people, audit, linkBase }))
    .use(webhookRoutes({ auth, webhooks, allow, audit }))
    .use(optionsRoutes({ auth, options, audit, warningOf: retainWarning }))
    .use(setupRoutes({ auth, setup }))
    .use(webhookHealthRoutes(auth, { store, statuses: parts.statuses, steadyUs, nowUs }))
    .use(pbxRoutes({ auth, pbxs, audit }))
    .use(auditRoutes(auth, store.audit))
    .use(eraseRoutes(auth, { store, onErased: parts.onErased }))
    .use(recordings.routes(auth))
    .use(stateRoutes(auth, parts.presentStates))
    .use(deliveryRoutes(auth, { deliveries, replays, sendTest }))
  return { routes, pbxs, wantedOf }
}
