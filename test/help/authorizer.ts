import { createAuthorizer } from '../../src/flows/authorization/authorizer.ts'
import { createLoginRenderer } from '../../src/flows/authorization/login-renderer.ts'
import { createLog } from '../../src/lib/log.ts'
import { nowUs } from '../../src/lib/time.ts'
import type { Exchange } from '../../src/outbound/exchange.ts'
import type { Store } from '../../src/store/store.ts'
import { TEMPLATES } from './templates.ts'

type OnProblem = Parameters<typeof createAuthorizer>[0]['onProblem']

/** Creates an authorizer on the clock of the machine, which stores tokens and obtains them by an exchange. */
export const newAuthorizer = (
  store: Pick<Store, 'authorizations'>,
  exchange: Exchange,
  onProblem: OnProblem = () => {},
) =>
  createAuthorizer({
    store: store.authorizations,
    exchange,
    login: createLoginRenderer(TEMPLATES),
    nowUs,
    steadyUs: nowUs,
    log: createLog('silent'),
    onProblem,
  })
