import { Elysia, t } from 'elysia'
import { type AuthService, guard, operatorGuard } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, takes } from '../../http/body.ts'
import { responses, success } from '../../http/envelope.ts'
import { createQuota } from '../../http/rate-limit.ts'
import { type NowUs, SECOND, steadyUs } from '../../lib/time.ts'
import {
  CallPreview,
  CallPreviewRequest,
  EventsPreviewRequest,
  FlowPreset,
  PresetCheck,
  PresetDirectory,
  PresetTrial,
} from './model.ts'
import { type SetupService, shownPresets } from './service.ts'

const about = { tags: ['Webhooks'], security: [{ bearer: [] }] }

/** The most checks, lists of users and previews per account and minute. */
const TRIALS_A_MINUTE = 30

type Options = { readonly auth: AuthService; readonly setup: SetupService; readonly now?: NowUs }

/** Creates the routes that list presets and try them: `/integration/webhook/preset`. */
export function setupRoutes({ auth, setup, now = steadyUs }: Options) {
  const quota = createQuota({ limit: TRIALS_A_MINUTE, windowUs: 60 * SECOND, now, what: 'checks and previews' })
  const forUsers = new Elysia({ name: 'webhook-setup', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get('/integration/webhook/preset', () => success(shownPresets(), 'These are the presets.'), {
      response: responses(t.Array(FlowPreset), 'unauthenticated'),
      detail: {
        summary: 'The presets of flows: CRMs and other systems that need more than one request for an event',
        description: 'To use a preset, set `flow` in the options of a URL to its name and parameters.',
        ...about,
      },
    })
    .post(
      '/integration/webhook/preset/check',
      async ({ accountId, body }) => {
        quota.take(accountId)
        const checked = await setup.check(accountId, body)
        return success(
          checked,
          checked.error === null ? 'The CRM accepts the key.' : 'The CRM did not accept the request.',
        )
      },
      {
        ...takes(PresetTrial),
        response: responses(PresetCheck, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Check the URL and key with the requests of a call that change nothing',
          description:
            'One that shows whether the key is right, then each search, for a number and a call that do not exist. Nothing is stored. 200 also if the CRM refuses: `error` says why. At most 30 a minute.',
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/preset/directory',
      async ({ accountId, body }) => {
        quota.take(accountId)
        return success(await setup.directory(accountId, body), 'These are the users of the CRM.')
      },
      {
        ...takes(PresetTrial),
        response: responses(PresetDirectory, 'unauthenticated', ...BODY_FAULTS),
        detail: {
          summary: 'Read the users of the CRM, to fill in the map of extensions',
          description: 'Nothing is stored. 200 also if the CRM refuses: `error` says why. At most 30 a minute.',
          ...about,
        },
      },
    )
    .post(
      '/integration/webhook/preview/call',
      async ({ accountId, body }) => {
        quota.take(accountId)
        return success(await setup.preview(accountId, body), 'These are the requests that the call would have caused.')
      },
      {
        ...takes(CallPreviewRequest),
        response: responses(CallPreview, 'unauthenticated', 'not_found', ...BODY_FAULTS),
        detail: {
          summary: 'The requests that a call would have caused with a flow; nothing is sent',
          description:
            'With the stored flow of the URL, or with `flow`. The answers come from the documentation of its preset. At most 30 a minute.',
          ...about,
        },
      },
    )
  return [forUsers, operatorRoutes(auth, setup)]
}

/** The operator of the machine may show the requests that events of a recording would cause. */
function operatorRoutes(auth: AuthService, setup: SetupService) {
  return new Elysia({ name: 'events-preview', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(operatorGuard(auth))
    .post(
      '/integration/webhook/preview/events',
      async ({ accountId, body }) =>
        success(
          await setup.previewEvents(accountId, body),
          'These are the requests that the events would have caused.',
        ),
      { ...takes(EventsPreviewRequest), response: responses(CallPreview, ...BODY_FAULTS), detail: { hide: true } },
    )
}
