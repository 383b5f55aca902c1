import { createAuthorizer, createLoginRenderer, newStepRequests } from '../../flows/flows.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { AllowList } from '../../outbound/address-guard.ts'
import { newExchange } from '../../outbound/exchange.ts'
import { newGuardedRequests } from '../../outbound/guarded-request.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateRenderer } from '../../templates/templates.ts'
import { createAttempts } from '../mqtt/attempts.ts'
import { newAuthorizedAttempt } from '../sending/authorized-attempt.ts'

type Options = {
  /** The networks that requests may reach besides the internet. */
  readonly allow: AllowList
  readonly proxy: string | undefined
  readonly store: Pick<Store, 'authorizations'>
  readonly templates: TemplateRenderer
  readonly log: Log
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  readonly onProblem: (webhook: string, reason: string | null) => void
}

export type Requests = ReturnType<typeof createRequests>

/** Creates the senders of requests to strangers: attempts, the steps of flows, look-ups, and their authorization. */
export function createRequests({ allow, proxy, store, templates, log, nowUs, steadyUs, onProblem }: Options) {
  const unauthorized = createAttempts({ allow, ...(proxy === undefined ? {} : { proxy }) })
  const send = newGuardedRequests({ allow, proxy })
  const exchange = newExchange(send)
  const authorizer = createAuthorizer({
    store: store.authorizations,
    exchange,
    login: createLoginRenderer(templates),
    nowUs,
    steadyUs,
    log,
    onProblem,
  })
  const attempts = { ...unauthorized, attempt: newAuthorizedAttempt(unauthorized.attempt, authorizer) }
  return { allow, attempts, exchange, sendStep: newStepRequests(send), authorizer }
}
