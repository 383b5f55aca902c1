import { type Static, t } from 'elysia'
import { UUID } from '../../lib/api-schema.ts'
import { NAME_PATTERN } from '../../lib/name.ts'

/** A request for a call. Other fields are checked by number.ts, since their rules are no schema. */
export const CallRequest = t.Object(
  {
    from: t.String({
      minLength: 1,
      maxLength: 64,
      description: 'The extension whose phone rings first',
    }),
    to: t.String({
      maxLength: 128,
      description:
        'The number that is dialled when the phone is answered, as that phone would dial it: 1 to 32 of digits, `*` and ' +
        '`#`, with a `+` in front if need be. Spaces, dots, hyphens, brackets and slashes are removed',
    }),
    pbx: t.Optional(
      t.String({
        maxLength: 256,
        description: 'The PBX, if several have the extension; by default the one that has it',
      }),
    ),
    name: t.Optional(
      t.String({
        maxLength: 320,
        form: { pattern: NAME_PATTERN },
        description:
          'What the phone shows beside the number, 80 characters at most. Characters that mean something to a PBX are removed',
      }),
    ),
  },
  { additionalProperties: false },
)
export type CallRequest = Static<typeof CallRequest>

export const MadeCall = t.Object({
  request_id: t.String({
    form: UUID,
    description: 'The id of the request: `call.request_id` in the events of the call',
  }),
  call_id: t.Union([t.String({ form: UUID }), t.Null()], {
    description: 'The id of the call; `null` if the PBX has not shown it within 3 seconds',
  }),
})
export type MadeCall = Static<typeof MadeCall>
