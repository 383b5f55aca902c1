import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { ACCOUNT_NAME, named } from '../../lib/api-schema.ts'
import { PBX_KINDS, PROTOCOL_NAMES } from '../source/pbx-facts.ts'

/** `refused`: it answers, but refuses the login (password, access list). */
export const PBX_STATES = ['connecting', 'up', 'down', 'refused'] as const

const closed = { additionalProperties: false } as const
const MAX_URL_CHARACTERS = 8_192

/** A PBX as users see it; only administrators see the last three fields. */
export const PbxInfo = named(
  'Pbx',
  t.Object({
    name: t.String({ description: 'Its name in events and metrics' }),
    kind: t.UnionEnum(PBX_KINDS, { default: undefined, description: 'The software' }),
    address: t.String({ description: 'Its host and port' }),
    state: t.UnionEnum(PBX_STATES, {
      default: undefined,
      description: '`refused`: it answers, but refuses the login; the next attempt is in a minute or two',
    }),
    since: t.Union([t.String({ format: 'date-time' }), t.Null()], { description: 'When it entered this state' }),
    error: t.Union([t.String(), t.Null()], { description: 'Why it is not connected' }),
    events_per_second: t.Number({ description: 'The average over the last 5 seconds' }),
    calls: Type.Integer({ minimum: 0, description: 'The number of live calls: your own; for administrators all' }),
    calls_not_followed: Type.Integer({
      minimum: 0,
      description:
        'The number of calls that are not followed, since as many as `--max-calls` were open when they began; 0 once there is room again',
    }),
    source: t.Optional(
      t.UnionEnum(['settings', 'store'], {
        default: undefined,
        description: '`settings`: it comes from `--pbx`, and can only be changed there. Only for administrators',
      }),
    ),
    account: t.Optional(
      t.String({
        description: 'The account that owns its calls. Only for administrators',
        form: ACCOUNT_NAME,
      }),
    ),
    url: t.Optional(
      t.String({
        description: 'Its URL, each secret as `***`. Only for administrators',
        form: { pattern: `^(${PROTOCOL_NAMES.join('|')})://` },
      }),
    ),
  }),
)
export type PbxInfo = typeof PbxInfo.static

/** The request that sets or checks a PBX. */
export const PbxRequest = named(
  'PbxRequest',
  t.Object(
    {
      url: t.String({
        minLength: 1,
        maxLength: MAX_URL_CHARACTERS,
        description:
          '`ami://user:secret@host:5038`, `amis://…` or `esl://:password@host:8021`, with the parameters of the guide; `***` in place of a ' +
          'secret keeps the stored one, for the same protocol, host and port',
      }),
    },
    closed,
  ),
)

/** One line of the report about a PBX. */
export const PbxFinding = named(
  'PbxFinding',
  t.Object({
    level: t.UnionEnum(['ok', 'missing', 'advice'], {
      default: undefined,
      description: '`missing`: without it events are wrong or missing. `advice`: an improvement, or more security',
    }),
    text: t.String({ description: 'The finding, and what to do' }),
    line: t.Optional(t.String({ description: 'The line to write into the configuration of the PBX' })),
  }),
)
export type PbxFinding = typeof PbxFinding.static
