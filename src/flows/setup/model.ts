import { type Static, t } from 'elysia'
import { EVENT_NAMES } from '../../events/kinds.ts'
import { WEBHOOK_URL } from '../../lib/api-schema.ts'
import { NewFlow, STEP_EVENTS } from '../model.ts'
import { PARAMETER_TYPES } from '../preset.ts'

const closed = { additionalProperties: false } as const
const words = <const Values extends readonly [string, ...string[]]>(values: Values, description: string) =>
  t.UnionEnum(values, { default: undefined, description })

const Parameter = t.Object(
  {
    name: t.String(),
    title: t.String({ description: 'For people' }),
    help: t.String({ description: 'A help text: its purpose, and where to find it' }),
    type: words(PARAMETER_TYPES, '`map`: an object of extension → user of the CRM'),
    required: t.Boolean(),
    default: t.Union([t.String(), t.Boolean(), t.Record(t.String(), t.String()), t.Null()]),
    choices: t.Optional(t.Array(t.Object({ value: t.String(), title: t.String() }, closed))),
  },
  closed,
)

/** A preset as the API shows it. */
export const FlowPreset = t.Object(
  {
    name: t.String({ description: 'As in `flow.preset` of the options' }),
    title: t.String({ description: 'For people' }),
    parameters: t.Array(Parameter),
    events: t.Array(words(STEP_EVENTS, 'A switch, or a kind of `events`'), {
      description: 'The kinds of events that it needs; a PUT that chooses it switches them on',
    }),
    sources: t.Array(t.String(), { description: 'The pages of the vendor that document its requests' }),
    lookup: t.Boolean({ description: 'Whether it can look contacts up' }),
    tried: t.Union([t.String(), t.Null()], {
      description:
        'The versions of the real system with which it was tried; `null`: none, it follows the documentation',
    }),
    address: t.Union([t.String(), t.Null()], {
      description: 'An example of the URL of its webhook; `null`: the guide names it',
    }),
  },
  closed,
)
export type FlowPreset = Static<typeof FlowPreset>

/** A preset with its parameters, for a URL that may not be in the list yet. */
export const PresetTrial = t.Object(
  {
    url: t.String({ description: 'The URL of the webhook: the base of the requests', form: WEBHOOK_URL }),
    preset: t.String({ description: 'The name of a preset' }),
    parameters: t.Optional(
      t.Record(t.String(), t.Unknown(), {
        description: 'Its parameters; a secret that is `null` is read from the options of this URL',
      }),
    ),
  },
  closed,
)
export type PresetTrial = Static<typeof PresetTrial>

const answer = {
  status: t.Union([t.Number({ multipleOf: 1 }), t.Null()], {
    description: 'The status of the answer; `null` without an answer',
  }),
  duration_ms: t.Number({ multipleOf: 1 }),
  error: t.Union([t.String(), t.Null()], {
    description: 'Why it did not work, as the CRM explains it, and what to do; `null` if it worked',
  }),
}

const PresetAnswer = t.Object(
  {
    ...answer,
    response: t.Union([t.String(), t.Null()], { description: 'The first 4 KiB of the answer' }),
  },
  closed,
)
export type PresetAnswer = Static<typeof PresetAnswer>

export const PresetCheck = t.Object(
  {
    ...PresetAnswer.properties,
    warnings: t.Array(t.String(), {
      description: 'What will go wrong though the CRM accepts the requests: sentences, each with what to do',
    }),
  },
  closed,
)
export type PresetCheck = Static<typeof PresetCheck>

export const PresetDirectory = t.Object(
  {
    ...answer,
    users: t.Array(
      t.Object(
        {
          id: t.String({ description: 'The value for the map' }),
          name: t.String(),
          extension: t.Union([t.String(), t.Null()], { description: 'The extension, if the CRM has one' }),
        },
        closed,
      ),
    ),
  },
  closed,
)
export type PresetDirectory = Static<typeof PresetDirectory>

export const CallPreviewRequest = t.Object(
  {
    url: t.String({ description: 'The URL of the webhook', form: WEBHOOK_URL }),
    call_id: t.String({ description: 'A call of the account whose events are kept' }),
    flow: t.Optional(NewFlow),
  },
  closed,
)
export type CallPreviewRequest = Static<typeof CallPreviewRequest>

/** Events of one's own, as a recording of a PBX has them. */
export const EventsPreviewRequest = t.Object(
  {
    url: t.String({ description: 'The URL of the webhook', form: WEBHOOK_URL }),
    events: t.Array(
      t.Object(
        { name: t.UnionEnum(EVENT_NAMES, { default: undefined }), callId: t.String(), body: t.String() },
        closed,
      ),
    ),
  },
  closed,
)

const nullable = (description: string) => t.Union([t.String(), t.Null()], { description })
export const CallPreview = t.Object(
  {
    steps: t.Array(
      t.Object(
        {
          event: t.String({ description: 'The kind of the event that begins it' }),
          step: t.String(),
          method: t.String(),
          url: nullable('`null`: it is not sent'),
          headers: t.Array(t.String(), { description: 'The names of its headers' }),
          body: nullable('Its body, with `***` for secrets'),
          skipped: nullable('Why it is not sent; `null` if it is'),
          error: nullable('Why it could not be rendered'),
          answer: t.Union([t.Object({ status: t.Number({ multipleOf: 1 }), body: t.Unknown() }, closed), t.Null()], {
            description: 'The answer in the documentation of the vendor',
          }),
        },
        closed,
      ),
    ),
    truncated: t.Union(
      [
        t.Object(
          {
            event: t.String({ description: 'The kind of the event whose requests are not all shown' }),
            step: t.String({ description: 'The first step that is not shown' }),
            reason: t.String(),
          },
          closed,
        ),
        t.Null(),
      ],
      { description: 'Where and why the preview ends before its last request; `null`: it is complete' },
    ),
  },
  closed,
)
export type CallPreview = Static<typeof CallPreview>
