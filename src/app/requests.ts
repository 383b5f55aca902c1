import { createAttempts, newAuthorizedAttempt } from '../deliveries/deliveries.ts'
import { createAuthorizer, createLoginRenderer, newStepRequests } from '../flows/flows.ts'
import type { Log } from '../lib/log.ts'
import type { NowUs } from '../lib/time.ts'
import { newExchange } from '../outbound/exchange.ts'
import { newGuardedRequests } from '../outbound/guarded-request.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import type { Config } from './config.ts'
import { allowListOf } from './settings.ts'

type Options = {
  readonly config: Pick<Config, 'allowNets' | 'proxy'>
  readonly store: Pick<Store, 'authorizations'>
  readonly templates: TemplateRenderer
  readonly log: Log
  readonly nowUs: NowUs
  readonly steadyUs: NowUs
  readonly onProblem: (webhook: string, reason: string | null) => void
}

/** Creates what sends requests to strangers: attempts, the steps of flows, look-ups, and their authorization. */
export function createRequests({ config, store, templates, log, nowUs, steadyUs, onProblem }: Options) {
  const allow = allowListOf(config.allowNets)
  const unauthorized = createAttempts({ allow, ...(config.proxy === undefined ? {} : { proxy: config.proxy }) })
  const send = newGuardedRequests({ allow, proxy: config.proxy })
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
