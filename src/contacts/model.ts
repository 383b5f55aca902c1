import { type Static, t } from 'elysia'
import { NewAuthorization } from '../webhooks/flows/model.ts'
import { MAX_TEMPLATE_CHARACTERS } from '../webhooks/templates/limits.ts'
import { SPELLINGS } from './lookup.ts'

const closed = { additionalProperties: false } as const
const POINTER = '^(/([^/~]|~[01])*)*$'
const pointer = (description: string) =>
  t.String({ maxLength: 200, pattern: POINTER, description, examples: ['/name'] })

export const DEFAULT_BUDGET_MS = 300
export const DEFAULT_CACHE_MINUTES = 10
const MAX_BUDGET_MS = 2_000
const MAX_CACHE_MINUTES = 1_440
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

const ContactFields = t.Object(
  {
    id: t.Optional(pointer('Its id in your system')),
    name: t.Optional(pointer('The name of the person')),
    company: t.Optional(pointer('The company')),
    url: t.Optional(pointer('A link to it')),
    owner: t.Optional(pointer('The extension of who is responsible')),
  },
  { ...closed, minProperties: 1, description: 'JSON pointers within the item; numbers become text' },
)

/** How an account looks up who calls. `settingsErrors` checks what belongs to which. */
export const NewContactSettings = t.Object(
  {
    url: t.Optional(
      t.String({
        maxLength: MAX_TEMPLATE_CHARACTERS,
        description:
          'Where numbers are looked up, a template with `number`. Of a preset: the URL of the CRM; without it, and without parameters, those of the webhook that has the preset',
      }),
    ),
    method: t.Optional(
      t.UnionEnum(METHODS, { default: undefined, description: '`GET`, with a body `POST`, unless it is given' }),
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
      t.Union([NewAuthorization, t.Null()], { description: 'How to get the value of `authorization`, as in a flow' }),
    ),
    item: t.Optional(pointer('Where the contact is in the JSON answer; the answer itself unless it is given')),
    fields: t.Optional(ContactFields),
    spellings: t.Optional(
      t.Array(t.UnionEnum(SPELLINGS, { default: undefined }), {
        minItems: 1,
        uniqueItems: true,
        description: 'How the number is written, tried in this order until one is found; all unless it is given',
      }),
    ),
    preset: t.Optional(t.String({ maxLength: 40, description: 'A preset that has a look-up, in place of a request' })),
    parameters: t.Optional(t.Record(t.String(), t.Unknown(), { maxProperties: 100, description: 'Of the preset' })),
    budget_ms: t.Optional(
      t.Number({
        minimum: 0,
        maximum: MAX_BUDGET_MS,
        multipleOf: 1,
        description: `How long the events of a call wait for it at most; ${DEFAULT_BUDGET_MS} unless it is given`,
      }),
    ),
    cache_minutes: t.Optional(
      t.Number({
        minimum: 0,
        maximum: MAX_CACHE_MINUTES,
        description: `How long an answer counts; ${DEFAULT_CACHE_MINUTES} unless it is given, one minute of a number that is not found`,
      }),
    ),
  },
  closed,
)
export type NewContactSettings = Static<typeof NewContactSettings>

/** `null`: contacts are not looked up. */
export const ContactSettings = t.Union([NewContactSettings, t.Null()], {
  description: 'How contacts are looked up; `null`: they are not',
})
export type ContactSettings = Static<typeof ContactSettings>
