import { type LoadedDelivery, loadDelivery } from '../../src/deliveries/queue/delivery.ts'
import type { MakeTurn } from '../../src/flows/turn.ts'
import type { PendingDelivery } from '../../src/store/operations/queue.ts'

/** Returns a queued delivery: the first event of call `a` for webhook 1, never tried, unless given otherwise. */
export const deliveryOf = (given: Partial<PendingDelivery> = {}): LoadedDelivery =>
  loadDelivery({
    id: 1,
    accountId: 1,
    webhookId: 1,
    callId: 'a',
    event: 'call_started',
    uuid: String(given.id ?? 1),
    body: '{}',
    atUs: 0,
    generation: 1,
    sinceSteadyUs: 0,
    tries: 0,
    attemptsMade: 0,
    dueSteadyUs: undefined,
    ...given,
  })

/** Fails the test if a delivery of a webhook with a flow is sent. */
export const NO_FLOWS: MakeTurn = () => {
  throw new Error('no webhook of this test has a flow')
}
