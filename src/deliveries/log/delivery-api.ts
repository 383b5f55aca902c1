import type { Access } from '../../auth/auth.ts'
import { flowSample } from '../../events/samples.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import type { Dispatcher } from '../run/dispatcher-run.ts'
import type { Emitter } from '../run/emitter.ts'
import type { Requests } from '../run/requests.ts'
import { createReplayFilter, createReplayService } from './replay-service.ts'
import { deliveryRoutes } from './routes.ts'
import { createDeliveryService } from './service.ts'
import { createTestSender } from './test-request.ts'

type Parts = {
  readonly store: Store
  readonly templates: TemplateRenderer
  readonly requests: Requests
  readonly emitter: Emitter
  readonly nowUs: NowUs
  /** The clock on which deliveries wait. */
  readonly steadyUs: NowUs
  /** Returns whether this process sends the deliveries of an account. */
  readonly isOwner: (accountId: number) => boolean
  readonly callsOfNumber: (accountId: number, number: string) => Promise<readonly string[]>
  readonly factsOf: Parameters<typeof createReplayFilter>[0]['factsOf']
  /** Waits until the limits of the running service allow a request; absent where no service runs. */
  readonly reserve: Dispatcher['reserve'] | undefined
  /** Called after a replay was added. */
  readonly onReplay: () => void
}

/** Creates the routes of the log of deliveries, of replays and of test requests, and the filter of replays. */
export function deliveryApi({ auth }: Access, parts: Parts) {
  const { store, templates, requests, emitter, nowUs, steadyUs, isOwner, callsOfNumber, reserve } = parts
  const { attempts, sendStep, authorizer } = requests
  const deliveries = createDeliveryService({
    store,
    templates,
    onDue: (ids) => emitter.emit('due', ids),
    isOwner,
    onCancelled: (ids) => emitter.emit('deliveries', ids),
    callsOfNumber,
    steadyUs,
  })
  const wantedOf = createReplayFilter({ webhooks: store.webhooks, factsOf: parts.factsOf })
  const replays = createReplayService({ store, wantedOf, nowUs, onAdded: parts.onReplay })
  const sendTest = createTestSender({
    store,
    attempt: attempts.attempt,
    templates,
    ...(reserve && { reserve }),
    isOwner,
    flow: { templates, send: sendStep, authorizer, sample: flowSample() },
  })
  return { routes: deliveryRoutes(auth, { deliveries, replays, sendTest }), wantedOf }
}
