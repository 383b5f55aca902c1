import { type Static, type TSchema, t } from 'elysia'
import { FURTHER_NAMES, type FurtherEvent, isOfState, type StateEventKind, SWITCH_NAMES } from '../events/kinds.ts'
import { textSchema } from '../lib/text.ts'
import { HTTP_METHODS } from '../outbound/http-methods.ts'
import { MAX_TEMPLATE_CHARACTERS } from '../templates/templates.ts'

// A flow: several requests for one event, as data. In the `New…` types, which clients send, absent fields get their
// defaults; the other types have every field.

const MAX_STEPS = 20
const MAX_ORIGINS = 5
export const MAX_ELEMENTS = 50
const MAX_KEPT = 20
export const MAX_KEPT_BYTES = 1_024
/** The longest answer that `keep` and `when` read; they ignore a longer one. */
export const MAX_ANSWER_BYTES = 256 * 1_024
const MAX_PARALLEL = 16
const DEFAULT_PARALLEL = 4
const MAX_RULES = 20
const MAX_HEADERS = 20

const closed = { additionalProperties: false } as const
const words = <const Values extends readonly [string, ...string[]]>(values: Values, description: string) =>
  t.UnionEnum(values, { default: undefined, description })
const nullable = <Schema extends TSchema>(schema: Schema, description: string) =>
  t.Union([schema, t.Null()], { description })

/** The form of the names of steps, kept values and parameters. */
export const NAME_PATTERN = '^[a-z][a-z0-9_]{0,39}$'
const NAME_RULE = 'must begin with a letter a-z and have at most 40 of a-z, 0-9 and _'
const NAME = { pattern: NAME_PATTERN, rule: NAME_RULE }
const template = (description: string) => t.String({ maxLength: MAX_TEMPLATE_CHARACTERS, description })
const pointer = (description: string) =>
  t.String({
    maxLength: 200,
    pattern: '^(/([^/~]|~[01])*)*$',
    rule: 'must be a JSON pointer, such as /result/id',
    description,
    examples: ['/result/id'],
  })

/** The events that can begin a step: the switches' names, and the call events that options request. */
const isOfCall = (kind: FurtherEvent): kind is Exclude<FurtherEvent, StateEventKind> => !isOfState(kind)
export const STEP_EVENTS = [...SWITCH_NAMES, ...FURTHER_NAMES.filter(isOfCall)] as const
const stepEvent = words(STEP_EVENTS, 'A switch, or a kind of `events`')
export type StepEvent = (typeof STEP_EVENTS)[number]
const Keep = t.Record(t.String(NAME), pointer('Where the value is in the JSON answer'), {
  ...closed,
  rule: `is no name of a value: it ${NAME_RULE}`,
  maxProperties: MAX_KEPT,
  description:
    'Values of the JSON answer to keep for the call: names, each with a JSON pointer to a string, number or boolean of at most 1 KiB',
})
export type Keep = Static<typeof Keep>

/** The effect of a matching rule. */
const VERDICTS = ['done', 'retry', 'fail', 'renew'] as const
export type Verdict = (typeof VERDICTS)[number]
/** `again`: a retry that begins at the step which the rule names, or the step's own `again`. */
const RULE_EFFECTS = [...VERDICTS, 'again'] as const

/** A rule about the answers of a step. */
export const Rule = t.Object(
  {
    status: t.Optional(
      t.Union(
        [t.String({ pattern: '^[1-5]xx$' }), t.Array(t.Number({ minimum: 100, maximum: 599 }), { minItems: 1 })],
        {
          description: 'Statuses that match: a list, or a class such as `2xx`',
        },
      ),
    ),
    pointer: t.Optional(pointer('Matches if the JSON answer has a value here other than `""`, `null`, `[]` or `{}`')),
    values: t.Optional(
      t.Array(textSchema({ maxLength: 256 }), {
        minItems: 1,
        maxItems: 100,
        description: 'The values at `pointer` that match, as text; default: any',
      }),
    ),
    then: words(
      RULE_EFFECTS,
      'The effect on the step; `again`: a retry that begins at the step named by `step` or `again`',
    ),
    step: t.Optional(
      t.String({
        ...NAME,
        description:
          'Only with `again`: the earlier step at which to begin; default: the one in the `again` of the step',
      }),
    ),
    keep: t.Optional(Keep),
  },
  { ...closed, description: 'A rule about the answer; the first matching one applies' },
)
export type Rule = Static<typeof Rule>

/** A part of `multipart/form-data` that has the recording, and its further fields. */
const UploadPart = t.Object(
  {
    field: t.String({ minLength: 1, maxLength: 100, pattern: '^[ -!#-~]+$', description: 'The name of the part' }),
    fields: t.Optional(
      t.Record(t.String({ pattern: '^[ -!#-~]{1,100}$' }), template('Liquid'), {
        ...closed,
        maxProperties: 20,
        description: 'Further fields of the form, sent before the recording',
      }),
    ),
  },
  closed,
)

/** The fields of a request, which a log-in has too. */
const requestFields = {
  method: words(HTTP_METHODS, 'The method of the request'),
  url: template(
    'Liquid, joined to the URL of the webhook with one `/`. With a leading `/` it is from the root of the host, `?…` alone keeps the path',
  ),
  headers: t.Record(t.String(), nullable(template(''), 'Liquid'), {
    maxProperties: MAX_HEADERS,
    description:
      'More request headers, Liquid. Their values are secret: they are read as `null`, and sending `null` keeps the stored value',
  }),
  content_type: t.String({
    maxLength: 200,
    pattern: '^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+( *; *[A-Za-z0-9-]+=[A-Za-z0-9"!#$&\'*+.^_`|~-]+)*$',
    rule: 'must be a content type, such as application/json',
    description: 'The content type of the body',
  }),
  body: nullable(template('Liquid, escaped for the content type'), 'The body; `null`: none'),
}

const stepFields = {
  ...requestFields,
  again: nullable(
    t.String(NAME),
    'An earlier step, a search, at which a repetition begins if it is unknown whether the request was carried out: its answer was lost, or the process was killed',
  ),
  if: nullable(template('Liquid'), 'The step is skipped if this renders to nothing, white space or `false`'),
  each: nullable(
    template('Liquid'),
    `Renders to a JSON array with at most ${MAX_ELEMENTS} elements: one request for each, in order, as \`item\``,
  ),
  upload: t.Union([words(['recording'], 'The body is the recording'), UploadPart, t.Null()], {
    description: '`recording`: the body is the recording (only for `recording_saved`); or a part of a form',
  }),
  keep: Keep,
  needs: t.Array(t.String(NAME), {
    maxItems: MAX_KEPT,
    uniqueItems: true,
    description: 'Names of kept values; the step is skipped if one is missing',
  }),
  when: t.Array(Rule, { maxItems: MAX_RULES, description: 'Rules about the answer; if none matches, 2xx is `done`' }),
}
const stepHead = {
  name: t.String({ ...NAME, description: 'Unique within the flow' }),
  on: t.Array(stepEvent, { minItems: 1, uniqueItems: true, description: 'The events that begin the step' }),
}

/** One request of a flow. */
export const Step = t.Object({ ...stepHead, ...stepFields }, closed)
export type Step = Static<typeof Step>
export const NewStep = t.Object({ ...stepHead, ...t.Partial(t.Object(stepFields)).properties }, closed)
export type NewStep = Static<typeof NewStep>

/** A request that belongs to no event: a step without `name` and `on`. */
export const NewRequest = t.Object(t.Partial(t.Object(stepFields)).properties, closed)

/** The defaults of a step's optional fields. */
export const STEP_DEFAULTS: Omit<Step, 'name' | 'on'> = {
  method: 'POST',
  url: '',
  headers: {},
  content_type: 'application/json',
  body: null,
  if: null,
  each: null,
  upload: null,
  again: null,
  keep: {},
  needs: [],
  when: [],
}

const secret = (description: string) => nullable(textSchema({ minLength: 1, maxLength: 4_096 }), description)

const oauth2Fields = {
  token_url: textSchema({ maxLength: 2_048, description: 'The URL for token requests' }),
  client_id: textSchema({ minLength: 1, maxLength: 1_024 }),
  client_secret: secret('Read as `null`; sending `null` keeps the stored one'),
  refresh_token: t.Optional(
    secret('Absent: client credentials are used. Read as `null`; sending `null` keeps the stored one, if any'),
  ),
  scope: t.Optional(nullable(textSchema({ maxLength: 1_024 }), 'The requested scope; `null`: none')),
}
/** Ten years: the time of its end has to fit into a column. */
const MAX_TOKEN_SECONDS = 315_360_000

const loginFields = {
  request: NewRequest,
  token: pointer('Where the answer has the token'),
  expires_in: t.Union(
    [pointer('Where the answer has the seconds'), t.Number({ minimum: 1, maximum: MAX_TOKEN_SECONDS })],
    {
      description: 'The seconds that the token is valid, or where the answer has them',
    },
  ),
  header: t.Optional(
    textSchema({ maxLength: 1_024, description: 'The value of `authorization`: `Bearer {{ token }}`' }),
  ),
}
/** Checked field by field, like the body of options, so that an error can name the wrong field. */
export const NewAuthorization = t.Object(
  {
    kind: words(['oauth2', 'login'], '`oauth2`: a refresh token, or client credentials. `login`: a request of its own'),
    ...t.Partial(t.Object(oauth2Fields)).properties,
    ...t.Partial(t.Object(loginFields)).properties,
  },
  { ...closed, description: 'How the value of `authorization` is obtained' },
)
export type NewAuthorization = Static<typeof NewAuthorization>

/** Tokens of OAuth 2.0; a `refreshToken` of `null` asks for client credentials. */
export type OAuth2Authorization = {
  readonly kind: 'oauth2'
  readonly tokenUrl: string
  readonly clientId: string
  readonly clientSecret: string | null
  readonly refreshToken: string | null
  readonly scope: string | null
}
/** A request that answers with a token. */
export type LoginAuthorization = {
  readonly kind: 'login'
  readonly request: Omit<Step, 'name' | 'on'>
  readonly token: string
  readonly expiresIn: string | number
  /** A template with `token`. */
  readonly header: string
}
export type Authorization = OAuth2Authorization | LoginAuthorization

const Parameters = t.Record(t.String(NAME), t.Unknown(), {
  ...closed,
  maxProperties: 100,
  description: 'Values for the templates, as `parameters`; or the parameters of the preset',
})
export type Parameters = Readonly<Record<string, unknown>>

/** Steps, or a preset with its parameters. `flowErrors` checks which fields belong together. */
export const NewFlow = t.Object(
  {
    steps: t.Optional(
      t.Array(NewStep, { minItems: 1, maxItems: MAX_STEPS, description: 'The requests, sent in this order' }),
    ),
    preset: t.Optional(t.String({ ...NAME, description: 'The name of a preset that has the steps' })),
    parameters: t.Optional(Parameters),
    origins: t.Optional(
      t.Array(textSchema({ maxLength: 300 }), {
        maxItems: MAX_ORIGINS,
        uniqueItems: true,
        description: 'Further origins (`https://host`) to which steps may send',
      }),
    ),
    authorization: t.Optional(t.Union([NewAuthorization, t.Null()])),
    parallel: t.Optional(
      t.Number({
        minimum: 1,
        maximum: MAX_PARALLEL,
        multipleOf: 1,
        description: `The most calls with a step in flight; default: ${DEFAULT_PARALLEL}`,
      }),
    ),
  },
  { ...closed, description: 'Several requests for one event: either steps, or a preset with its parameters' },
)
export type NewFlow = Static<typeof NewFlow>

/** A flow as it runs: with all defaults, and a preset replaced by its steps. */
export type Flow = {
  readonly steps: readonly Step[]
  readonly origins: readonly string[]
  readonly authorization: Authorization | null
  readonly parallel: number
  /** The requests per second that the system allows, in addition to the webhook's own limit; `null`: no known limit. */
  readonly maxPerSecond: number | null
  readonly parameters: Parameters
  /** Whether its steps get the outside call that a merge hides, as steps of presets do. */
  readonly seesOutsideCalls: boolean
  /** The steps that calls of one number send in turn, with the kept value that the calls share; `null`: none. */
  readonly inTurn: ReadonlyMap<string, string | null>
}

/** A value that is kept for a call. */
export type KeptValue = string | number | boolean
export type Kept = Readonly<Record<string, KeptValue>>

/** Returns a step with its defaults. */
export const stepOf = (step: NewStep): Step => ({ ...STEP_DEFAULTS, ...step })

/** Returns an authorization with its defaults; it has passed `flowErrors`. */
export function authorizationOf(given: NewAuthorization): Authorization {
  if (given.kind === 'oauth2')
    return {
      kind: 'oauth2',
      tokenUrl: given.token_url ?? '',
      clientId: given.client_id ?? '',
      clientSecret: given.client_secret ?? null,
      refreshToken: given.refresh_token ?? null,
      scope: given.scope ?? null,
    }
  return {
    kind: 'login',
    request: { ...STEP_DEFAULTS, ...given.request },
    token: given.token ?? '',
    expiresIn: given.expires_in ?? 3_600,
    header: given.header ?? 'Bearer {{ token }}',
  }
}

/** Returns a flow of steps with its defaults. */
export function flowOfSteps(given: Omit<NewFlow, 'preset'>): Flow {
  const { steps = [], origins = [], authorization = null, parallel = DEFAULT_PARALLEL, parameters = {} } = given
  return {
    steps: steps.map(stepOf),
    origins,
    authorization: authorization === null ? null : authorizationOf(authorization),
    parallel,
    maxPerSecond: null,
    parameters,
    seesOutsideCalls: false,
    inTurn: new Map(),
  }
}

/** A flow that cannot be made: its preset is of another version of the program. */
export type BrokenFlow = { readonly problem: string }
