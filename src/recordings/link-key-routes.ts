import { Elysia } from 'elysia'
import { type Access, operatorGuard } from '../auth/auth.ts'
import { accepts } from '../http/accepts.ts'
import { READ_FAULTS, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import type { Store } from '../store/store.ts'
import { type Links, newLinkKey } from './links.ts'

type Dependencies = { readonly recordings: Store['recordings']; readonly links: Links }

/** Creates `POST /recording/rotate-key`, for the operator of the machine: all earlier links stop working. */
export function linkKeyRoutes({ auth, audit }: Pick<Access, 'auth' | 'audit'>, { recordings, links }: Dependencies) {
  return new Elysia({ name: 'link-key', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(operatorGuard(auth))
    .post(
      '/recording/rotate-key',
      async ({ user, request, server }) => {
        await recordings.linkKeyReplace(newLinkKey())
        await links.reload()
        await audit.note('recording_key_replaced', { user, client: audit.clientOf(request, server) })
        return success([], 'The key was replaced: earlier links to recordings no longer open them.')
      },
      { ...takesNothing, response: responses(Nothing, ...READ_FAULTS), detail: { hide: true } },
    )
}
