import type { AnyElysia } from 'elysia'
import type { Access } from '../auth/auth.ts'
import { exampleTexts } from '../events/samples.ts'
import type { AllowList } from '../outbound/address-guard.ts'
import { retainWarning } from '../outbound/mqtt-url.ts'
import type { Store } from '../store/store.ts'
import type { TemplateRenderer } from '../templates/templates.ts'
import { optionsRoutes } from './options/routes.ts'
import { createOptionsService } from './options/service.ts'
import { webhookRoutes } from './routes.ts'
import { createWebhookService } from './service.ts'

type Parts = {
  readonly store: Pick<Store, 'webhooks' | 'authorizations'>
  readonly templates: TemplateRenderer
  /** The networks that webhooks may reach besides the internet. */
  readonly allow: AllowList
  /** Called after every change of a list, a secret or options. */
  readonly onChanged: (accountId: number) => void
  /** Returns the presets that other nodes have; absent where there is one node. */
  readonly presetsElsewhere: (() => Promise<readonly string[]>) | undefined
}

/** Creates the routes of webhooks, their secrets and options. */
export function webhookApi(
  { auth, audit }: Access,
  { store, templates, allow, onChanged, presetsElsewhere }: Parts,
): AnyElysia[] {
  const { webhooks, authorizations } = store
  const options = createOptionsService({
    authorizations,
    webhooks,
    templates,
    samples: exampleTexts(),
    allow: () => allow,
    onChanged,
    presetsElsewhere,
  })
  return [
    webhookRoutes({ auth, webhooks: createWebhookService({ webhooks, onChanged }), allow, audit }),
    optionsRoutes({ auth, options, audit, warningOf: retainWarning }),
  ]
}
