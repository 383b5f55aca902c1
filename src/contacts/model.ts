import { type Static, t } from 'elysia'
import { NewAuthorization } from '../flows/flows.ts'
import { named } from '../lib/api-schema.ts'
import { HTTP_METHODS } from '../outbound/http-methods.ts'
import { MAX_TEMPLATE_CHARACTERS } from '../templates/templates.ts'
import { SPELLINGS } from './look-up.ts'

const closed = { additionalProperties: false } as const
const POINTER = '^(/([^/~]|~[01])*)*$'
const pointer = (description: string) =>
  t.String({ maxLength: 200, pattern: POINTER, description, examples: ['/name'] })

export const DEFAULT_BUDGET_MS = 300
export const DEFAULT_CACHE_MINUTES = 10
const MAX_BUDGET_MS = 2_000
const MAX_CACHE_MINUTES = 1_440

const ContactFields = t.Object(
  {
    id: t.Optional(pointer('Its id in your system')),
    name: t.Optional(pointer('The name of the person')),
    company: t.Optional(pointer('The company')),
    url: t.Optional(pointer('A link to it')),
    owner: t.Optional(pointer('The extension of the person who is responsible')),
  },
  { ...closed, minProperties: 1, description: 'JSON pointers within the item; numbers become text' },
)

/** An account's settings for the look-up of callers. `settingsErrors` checks which fields belong together. */
export const NewContactSettings = named(
  'ContactSettings',
  t.Object(
    {
      url: t.Optional(
        t.String({
          maxLength: MAX_TEMPLATE_CHARACTERS,
          description:
            'The URL of the look-up, a template with `number`. With a preset, the URL of the CRM; if the URL and the parameters are absent, those of the webhook with this preset apply',
        }),
      ),
      method: t.Optional(
        t.UnionEnum(HTTP_METHODS, { default: undefined, description: 'Default: `GET`, or `POST` with a body' }),
      ),
      headers: t.Optional(
        t.Record(t.String(), t.Union([t.String({ maxLength: MAX_TEMPLATE_CHARACTERS }), t.Null()]), {
          maxProperties: 20,
          description:
            'Request headers, templates with `number`. Read back as `null`, and a `null` that is sent keeps the stored value',
        }),
      ),
      body: t.Optional(
        t.Union([t.String({ maxLength: MAX_TEMPLATE_CHARACTERS }), t.Null()], {
          description: 'The body, JSON: a template with `number`, which is escaped',
        }),
      ),
      authorization: t.Optional(
        t.Union([NewAuthorization, t.Null()], {
          description: 'How the value of `authorization` is obtained, as in a flow',
        }),
      ),
      item: t.Optional(pointer('Where the JSON answer has the contact; default: the answer itself')),
      fields: t.Optional(ContactFields),
      spellings: t.Optional(
        t.Array(t.UnionEnum(SPELLINGS, { default: undefined }), {
          minItems: 1,
          uniqueItems: true,
          description: 'The spellings of the number, tried in this order until one is found; default: all',
        }),
      ),
      preset: t.Optional(t.String({ maxLength: 40, description: 'A preset with a look-up, in place of a request' })),
      parameters: t.Optional(
        t.Record(t.String(), t.Unknown(), { maxProperties: 100, description: 'The parameters of the preset' }),
      ),
      budget_ms: t.Optional(
        t.Number({
          minimum: 0,
          maximum: MAX_BUDGET_MS,
          multipleOf: 1,
          description: `The most milliseconds that the events of a call wait for a contact; default: ${DEFAULT_BUDGET_MS}`,
        }),
      ),
      cache_minutes: t.Optional(
        t.Number({
          minimum: 0,
          maximum: MAX_CACHE_MINUTES,
          description: `How long a contact is cached; default: ${DEFAULT_CACHE_MINUTES}. A number without a contact is cached for a minute`,
        }),
      ),
    },
    closed,
  ),
)
export type NewContactSettings = Static<typeof NewContactSettings>

/** `null`: the account looks up no contacts. */
export const ContactSettings = t.Union([NewContactSettings, t.Null()], {
  description: 'The settings of the look-up of contacts; `null`: there is none',
})
export type ContactSettings = Static<typeof ContactSettings>
