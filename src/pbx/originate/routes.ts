import { Elysia, t } from 'elysia'
import { type Audit, type AuthService, mayCall, NO_CALLS, popGuard, type Session } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../../http/body.ts'
import { Nothing, responses, success } from '../../http/envelope.ts'
import { UUID } from '../../lib/api-schema.ts'
import { Fault } from '../../lib/fault.ts'
import type { CallService } from './call-service.ts'
import { CallRequest, MadeCall } from './model.ts'

const about = { tags: ['Calls'], security: [{ bearer: [] }] }
const Params = t.Object({ id: t.String({ description: 'The id of the call', form: UUID }) })
/** The PBX is waited for longer than a connection may usually be idle. */
const WITHIN_S = 20

type Dependencies = {
  readonly auth: AuthService
  readonly calls: CallService
  readonly audit: Audit
  /** Whether users who are no administrators may have calls made; a setting. */
  readonly usersMayCall: boolean
}

/** Creates the routes by which calls are made and hung up. */
export function originateRoutes({ auth, calls, audit, usersMayCall }: Dependencies) {
  /** Before the body is looked at. */
  function requireRight({ session }: { session: Session }): Record<never, never> {
    if (!mayCall(session, usersMayCall)) throw new Fault('forbidden', NO_CALLS)
    calls.requireCalls(session.user.accountId)
    return {}
  }
  return new Elysia({ name: 'originate', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(popGuard(auth))
    .derive(requireRight)
    .post(
      '/call',
      async ({ session, accountId, body, request, server }) => {
        server?.timeout(request, WITHIN_S)
        if (session.extension !== null && body.from !== session.extension)
          throw new Fault('forbidden', `This token makes calls from the extension ${session.extension} alone.`)
        const { made, doubt } = await calls.call(accountId, body)
        // The whole number is in the call's record, for those who may read that.
        const facts = { from: body.from, call: made.call_id ?? '', request: made.request_id, to: endOf(body.to) }
        await audit.note('call_made', { user: session.user, client: audit.clientOf(request, server) }, facts)
        if (doubt !== undefined) throw doubt
        return success(made, 'The phone rings; when it is answered, the number is dialled.')
      },
      {
        ...takes(CallRequest),
        response: responses(MadeCall, 'unauthenticated', 'forbidden', ...BODY_FAULTS, 'conflict'),
        detail: {
          summary: 'Make a call: a phone rings, and when it is answered a number is dialled',
          description:
            'Where the URL of the PBX allows it with `calls=`. The number is dialled as the phone would dial it; nothing else of the ' +
            'request reaches the PBX. A token with an `extension` makes calls from this one. 409 if the PBX is not connected, refuses or does not answer, or the phone is in such a call; ' +
            'nothing is ever sent twice. 30 calls a minute for an account.',
          ...about,
        },
      },
    )
    .delete(
      '/call/:id',
      async ({ session, accountId, params, request, server }) => {
        server?.timeout(request, WITHIN_S)
        await calls.hangUp(accountId, params.id, session.extension)
        await audit.note(
          'call_hung_up',
          { user: session.user, client: audit.clientOf(request, server) },
          { call: params.id },
        )
        return success([], 'The call was hung up.')
      },
      {
        ...takesNothing,
        params: Params,
        response: responses(Nothing, 'unauthenticated', 'forbidden', 'not_found', ...READ_FAULTS, 'conflict'),
        detail: {
          summary: 'Hang up a call that is up',
          description:
            'Any call of the account, where the URL of its PBX has `calls=`; a token with an `extension` a call of this extension. 404 ' +
            'for a call that is over.',
          ...about,
        },
      },
    )
}

/** Returns the last two digits of a number: enough to tell calls apart. */
const endOf = (number: string): string => `…${number.replace(/\D/g, '').slice(-2)}`
