import { Fault } from '../lib/fault.ts'
import type { NowUs } from '../lib/time.ts'
import type { Change } from './circuit-breaker.ts'
import type { Lanes } from './queue/scheduler.ts'
import type { Outcome } from './retry-policy.ts'

/** Says how a request ended that was admitted. */
export type Dismiss = (outcome: Outcome) => void

type Admission = {
  readonly webhookId: number
  readonly begin: (dismiss: Dismiss) => void
  readonly refuse: (why: Fault) => void
}

export type AdmissionOptions = {
  readonly lanes: Lanes
  readonly steadyUs: NowUs
  /** Called when such a request has ended: there is room for something else. */
  readonly dismissed: (webhookId: number, change: Change) => void
}

const stops = () => new Fault('unavailable', 'The service is stopping.')

/** Requests to webhooks that are no deliveries: they wait for room within the limits of all, and have it before deliveries. */
export function createAdmissions({ lanes, steadyUs, dismissed }: AdmissionOptions) {
  let waiting: Admission[] = []
  let stopped = false

  /** Begins those for which there is room. */
  function begin(): void {
    if (waiting.length === 0) return
    const atUs = steadyUs()
    waiting = waiting.filter(({ webhookId, begin }) => {
      const slot = lanes.reserve(webhookId, atUs)
      if (slot !== undefined) begin((outcome) => dismissed(webhookId, lanes.yield(slot, outcome, steadyUs())))
      return slot === undefined
    })
  }

  return {
    begin,
    /** Waits for room. @throws Fault when the service stops before. */
    admit(webhookId: number): Promise<Dismiss> {
      const { promise, resolve, reject } = Promise.withResolvers<Dismiss>()
      if (stopped) reject(stops())
      else waiting.push({ webhookId, begin: resolve, refuse: reject })
      begin()
      return promise
    },
    stop(): void {
      stopped = true
      for (const { refuse } of waiting.splice(0)) refuse(stops())
    },
  }
}
