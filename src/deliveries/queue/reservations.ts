import { Fault } from '../../lib/fault.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Outcome } from '../../outbound/outcome.ts'
import type { Scheduler } from './scheduler.ts'

/** Ends a request that had begun, with its outcome. */
export type EndReserved = (outcome: Outcome) => void

type Reservation = {
  readonly webhookId: number
  readonly begin: (end: EndReserved) => void
  readonly reject: (fault: Fault) => void
}

type ReservationsOptions = {
  readonly scheduler: Scheduler
  readonly steadyUs: NowUs
  /** Called when a request has ended: another may begin. */
  readonly onEnded: () => void
}

const stopping = () => new Fault('unavailable', 'The service is stopping. Try again in a moment.')

export type Reservations = ReturnType<typeof createReservations>

/**
 * Creates the queue of requests that are not deliveries, such as tests. They precede deliveries, within the limits of
 * their webhook.
 */
export function createReservations({ scheduler, steadyUs, onEnded }: ReservationsOptions) {
  let pending: Reservation[] = []
  let stopped = false

  function tryBegin({ webhookId, begin }: Reservation): boolean {
    const slot = scheduler.reserve(webhookId, steadyUs())
    if (slot === undefined) return false
    begin((outcome) => {
      scheduler.endReserved(slot, outcome, steadyUs())
      onEnded()
    })
    return true
  }

  function beginPending(): void {
    if (pending.length > 0) pending = pending.filter((reservation) => !tryBegin(reservation))
  }

  return {
    /** Begins the requests that the limits allow now. */
    beginPending,
    /**
     * Resolves when a request to a webhook may begin. Its success closes the circuit breaker.
     * @throws Fault `unavailable` when the service stops before.
     */
    reserve(webhookId: number): Promise<EndReserved> {
      const { promise, resolve, reject } = Promise.withResolvers<EndReserved>()
      if (stopped) reject(stopping())
      else pending.push({ webhookId, begin: resolve, reject })
      beginPending()
      return promise
    },
    /** Rejects the requests that have not begun, and all later ones. */
    stop(): void {
      stopped = true
      for (const { reject } of pending.splice(0)) reject(stopping())
    },
  }
}
