import { Elysia, t } from 'elysia'
import { type Audit, type AuthService, guard, popGuard } from '../auth/auth.ts'
import { Contact } from '../events/bodies.ts'
import { accepts } from '../http/accepts.ts'
import { BODY_FAULTS, takes } from '../http/body.ts'
import { responses, success } from '../http/envelope.ts'
import { asks } from '../http/query.ts'
import { createQuota } from '../http/rate-limit.ts'
import { type NowUs, SECOND, steadyUs } from '../lib/time.ts'
import { CONTACT_STATES, type ContactState } from './directory.ts'
import { ContactSettings } from './model.ts'
import type { ContactService } from './service.ts'
import { settingsErrors } from './settings.ts'

const about = { tags: ['Contacts'], security: [{ bearer: [] }] }

/** Replacements of settings per account and minute. */
const REPLACED_A_MINUTE = 60

const Query = t.Object({
  number: t.String({ minLength: 1, maxLength: 256, description: 'The number, as E.164 or as it is' }),
  detail: t.Optional(
    t.UnionEnum(['true', 'false'], {
      default: undefined,
      description: '`true`: the result also says if the number is unknown, or the look-up late',
    }),
  ),
})
const OrNull = t.Union([Contact, t.Null()], { description: 'The contact, or `null`' })
const ContactDetail = t.Object(
  {
    contact: OrNull,
    state: t.UnionEnum(CONTACT_STATES, {
      default: undefined,
      description: '`late`: no answer within the time budget; `failed`: the system did not answer, or with an error',
    }),
  },
  { description: 'With `detail=true`: the contact and the state of its look-up' },
)
/** The result of `GET /contact`. */
const FoundContact = t.Union([OrNull, ContactDetail])

type Options = {
  readonly auth: AuthService
  readonly contacts: ContactService
  readonly audit: Audit
  readonly now?: NowUs
}

/** Creates the routes for the look-up of contacts: its settings, and a look-up for a dialplan and the pop page. */
export function contactRoutes(options: Options) {
  return new Elysia({ name: 'contacts', normalize: false, encodeSchema: false })
    .use(settingsRoutes(options))
    .use(lookUpRoute(options))
}

function settingsRoutes({ auth, contacts, audit, now = steadyUs }: Options) {
  const quota = createQuota({ limit: REPLACED_A_MINUTE, windowUs: 60 * SECOND, now })
  return new Elysia({ name: 'contact settings', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/integration/contacts',
      async ({ accountId }) =>
        success(await contacts.get(accountId), 'These are the settings of the look-up of contacts.'),
      {
        response: responses(ContactSettings, 'unauthenticated'),
        detail: {
          summary: 'The settings of the look-up of contacts; `null`: there is none',
          description: 'Secrets are read as `null`.',
          ...about,
        },
      },
    )
    .put(
      '/integration/contacts',
      async ({ accountId, user, body, request, server }) => {
        quota.take(accountId)
        const replaced = await contacts.replace(accountId, body)
        const facts = replaced === null ? { changed: 'none' } : { changed: replaced.preset ?? hostOf(replaced.url) }
        await audit.note('contacts_replaced', { user, client: audit.clientOf(request, server) }, facts)
        return success(
          replaced,
          replaced === null ? 'The look-up of contacts is off.' : 'The look-up of contacts is on.',
        )
      },
      {
        ...takes(ContactSettings, settingsErrors),
        response: responses(ContactSettings, 'unauthenticated', 'conflict', ...BODY_FAULTS),
        detail: {
          summary: 'Replace the settings of the look-up of contacts; `null` turns it off',
          description:
            'A secret that is `null` keeps its stored value, if the host is the same. The templates are rendered with a sample number; nothing is sent.',
          ...about,
        },
      },
    )
}

const lookUpRoute = ({ auth, contacts }: Options) =>
  new Elysia({ name: 'contact', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(popGuard(auth))
    .get(
      '/contact',
      async ({ accountId, query }) => {
        const found = await contacts.find(accountId, query.number)
        return success(query.detail === 'true' ? found : found.contact, FOUND[found.state])
      },
      {
        ...asks(Query),
        response: responses(FoundContact, 'unauthenticated', 'invalid'),
        detail: {
          summary: 'The contact of a number, for a dialplan that routes a caller to the `owner`',
          description:
            'From the cache, or looked up within the time budget; `null` also if the look-up fails. With `detail=true` the result is `{ "contact", "state" }`.',
          ...about,
        },
      },
    )

const FOUND: Readonly<Record<ContactState, string>> = {
  found: 'This is the contact.',
  unknown: 'No contact was found.',
  late: 'No contact was found within the time budget.',
  failed: 'No contact was found: the look-up failed.',
}

const hostOf = (url: string | undefined): string => /^https?:\/\/(?:[^/@]*@)?([^/?#]+)/i.exec(url ?? '')?.[1] ?? ''
