import type { AnyElysia } from 'elysia'
import type { Access } from '../../auth/auth.ts'
import { exampleTexts } from '../../events/samples.ts'
import type { Store } from '../../store/store.ts'
import { setupRoutes } from './routes.ts'
import { createSetupService } from './service.ts'

type Parts = Pick<Parameters<typeof createSetupService>[0], 'templates' | 'exchange' | 'authorizer' | 'phones'> & {
  readonly store: Pick<Store, 'webhooks' | 'log' | 'calls'>
}

/** Creates the routes that list presets and try them. */
export function setupApi({ auth }: Access, { store, ...parts }: Parts): AnyElysia[] {
  const { webhooks, log: events, calls } = store
  return setupRoutes({
    auth,
    setup: createSetupService({ ...parts, webhooks, events, calls, samples: exampleTexts() }),
  })
}
