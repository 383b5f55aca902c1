import type { AnyElysia } from 'elysia'
import { type Access, accessApi } from '../auth/auth.ts'
import { createStoredFacts, eraseRoutes } from '../calls/calls.ts'
import { offeredPresets } from '../cluster/cluster.ts'
import { deliveryApi, type Emitter, type Requests } from '../deliveries/deliveries.ts'
import { setupApi } from '../flows/flows.ts'
import { hasCertificates } from '../lib/certificate-file.ts'
import type { NowUs } from '../lib/time.ts'
import { type PbxList, pbxApi } from '../pbx/pbx.ts'
import type { Recordings } from '../recordings/recordings.ts'
import { stateRoutes } from '../states/states.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import { type Cluster, nodeRoutes } from '../web/server/nodes.ts'
import { webhookHealthRoutes } from '../web/server/webhook-health.ts'
import { webhookApi } from '../webhooks/webhooks.ts'
import type { Config } from './config.ts'
import { type ServiceFacts, serviceRoutes } from './service-routes.ts'

// The part of the API that commands ask for. The service has it beside its other routes; where no service runs, a
// command has it in its own process, over the store.

type Dependencies = {
  readonly config: Pick<Config, 'publicUrl'>
  readonly store: Store
  readonly access: Access
  readonly requests: Requests
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
  readonly pbxStates: Parameters<typeof pbxApi>[1]['states']
  readonly presentStates: Parameters<typeof stateRoutes>[1]
  readonly statuses: Parameters<typeof webhookHealthRoutes>[1]['statuses']
  /** The nodes of the database; absent where the store is a folder. */
  readonly cluster: Cluster | undefined
  readonly callsOfNumber: (accountId: number, number: string) => Promise<readonly string[]>
  /** Waits until the limits of the running service allow a request; absent where no service runs. */
  readonly reserve: Parameters<typeof deliveryApi>[1]['reserve']
  /** Called after numbers were erased, to forget their contacts. */
  readonly onErased: () => void
  /** Called after a replay was added. */
  readonly onReplay: () => void
}

/** Creates the routes that commands ask for, module by module, and what the service needs of them. */
export function createApi(parts: Dependencies) {
  const { config, store, access, requests, emitter, templates, pbxs: list, recordings, nowUs, steadyUs } = parts
  const { auth } = access
  const { allow, exchange, authorizer } = requests
  const linkBase = (request: Request) =>
    config.publicUrl ?? (auth.isOperators(request) ? parts.facts.settings?.url : new URL(request.url).origin)
  const onChanged = (accountId: number) => emitter.emit('webhooks', accountId)
  const phones = (accountId: number) => parts.presentStates.list(accountId, 'phone')
  const nodes = parts.cluster?.store
  const presetsElsewhere = nodes && (async () => offeredPresets(await nodes.nodeList(), await nodes.clockGet()) ?? [])
  const deliveries = deliveryApi(access, { ...parts, factsOf: createStoredFacts(store.log) })
  const { allowed } = recordings
  const pbxs = pbxApi(access, { store, list, states: parts.pbxStates, canRead: hasCertificates, allowed })
  // A list: each plugin around others would add all their routes once more.
  const routes: AnyElysia[] = [
    serviceRoutes(auth, parts.facts),
    ...accessApi(access, { store, linkBase }),
    eraseRoutes(access, { store, onErased: parts.onErased }),
    ...webhookApi(access, { store, templates, allow, onChanged, presetsElsewhere }),
    ...setupApi(access, { store, templates, exchange, authorizer, phones }),
    deliveries.routes,
    stateRoutes(auth, parts.presentStates),
    ...recordings.routes(access),
    ...pbxs.routes,
    webhookHealthRoutes(auth, { store, statuses: parts.statuses, steadyUs, nowUs }),
    nodeRoutes(auth, parts.cluster, store.pbxs),
  ]
  return { routes, pbxs: pbxs.pbxs, wantedOf: deliveries.wantedOf }
}
