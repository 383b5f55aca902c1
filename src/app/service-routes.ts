import { Elysia, t } from 'elysia'
import { type AuthService, operatorGuard } from '../auth/auth.ts'
import { accepts } from '../http/accepts.ts'
import { responses, success } from '../http/envelope.ts'
import { SettingsInForce } from './settings-in-force.ts'

/** The facts about this process that a command on the same machine needs. */
const ServiceFacts = t.Object({
  /** `null`: no service runs, and a command answers itself, over the store. */
  settings: t.Union([SettingsInForce, t.Null()]),
})
export type ServiceFacts = typeof ServiceFacts.static

/** Creates `GET /service`, for the operator of the machine alone. */
export function serviceRoutes(auth: AuthService, facts: ServiceFacts) {
  return new Elysia({ name: 'service', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(operatorGuard(auth))
    .get('/service', () => success(facts, 'This is the service.'), {
      response: responses(ServiceFacts),
      detail: { hide: true },
    })
}
