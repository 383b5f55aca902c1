import { Elysia, t } from 'elysia'
import { type Audit, type AuthService, adminGuard, guard, isAdmin, operatorGuard } from '../../auth/auth.ts'
import { accepts } from '../../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../../http/body.ts'
import { Nothing, responses, success } from '../../http/envelope.ts'
import { comparedText } from '../../lib/text.ts'
import { PbxFinding, PbxInfo, PbxRequest } from './model.ts'
import type { PbxService } from './pbx-service.ts'

const about = { tags: ['PBXs'], security: [{ bearer: [] }] }
const NameOfPbx = t.Object({ name: t.String({ description: 'The name of the PBX' }) })
/** The longest check of a slow PBX. */
const CHECK_WITHIN_S = 180

type Dependencies = { readonly auth: AuthService; readonly pbxs: PbxService; readonly audit: Audit }

/** Creates the routes by which users see their PBXs, and administrators manage all of them. */
export function pbxRoutes({ auth, pbxs, audit }: Dependencies) {
  const forAll = new Elysia({ name: 'pbx', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/pbx',
      async ({ user, accountId }) =>
        isAdmin(user)
          ? success(await pbxs.listAll(), 'These are all PBXs.')
          : success(await pbxs.listOf(accountId), 'These are the PBXs of your account.'),
      {
        response: responses(t.Array(PbxInfo), 'unauthenticated'),
        detail: { summary: 'Your PBXs with their state; for administrators all PBXs', ...about },
      },
    )
  return [forAll, adminRoutes({ auth, pbxs, audit }), operatorRoutes(auth, pbxs)]
}

/** The operator of the machine checks and records PBXs from where he is, so he needs their secrets. */
function operatorRoutes(auth: AuthService, pbxs: PbxService) {
  return new Elysia({ name: 'pbx-sources', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(operatorGuard(auth))
    .get('/pbx/source', () => success(pbxs.sources(), 'These are the PBXs with their secrets.'), {
      detail: { hide: true },
    })
}

function adminRoutes({ auth, pbxs, audit }: Dependencies) {
  return new Elysia({ name: 'pbx-admin', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(adminGuard(auth))
    .put(
      '/pbx/:name',
      async ({ params: { name }, body, user, request, server }) => {
        const by = auth.isOperators(request) ? 'store' : 'api'
        const mayReplace = request.headers.get('if-none-match') !== '*'
        const pbx = await pbxs.set({ name: comparedText(name), url: body.url, by, mayReplace })
        await audit.note('pbx_set', { user, client: audit.clientOf(request, server) }, { pbx: name, to: pbx.address })
        return success(pbx, 'The PBX is stored. The service connects to it now.')
      },
      {
        ...takes(PbxRequest),
        params: NameOfPbx,
        response: responses(PbxInfo, 'unauthenticated', 'forbidden', ...BODY_FAULTS, 'conflict', 'precondition_failed'),
        detail: {
          summary: 'Add or replace a PBX',
          description:
            'Only for administrators. `name` in the URL is absent or this one. If its address changes, live calls end as `unknown`; with ' +
            'another account they keep their account. A PBX of the settings answers 409.',
          ...about,
          parameters: [
            {
              in: 'header',
              name: 'If-None-Match',
              required: false,
              description: '`*` adds the PBX only if there is none of this name',
              schema: { type: 'string' },
            },
          ],
        },
      },
    )
    .delete(
      '/pbx/:name',
      async ({ params: { name }, user, request, server }) => {
        await pbxs.remove(comparedText(name))
        await audit.note('pbx_removed', { user, client: audit.clientOf(request, server) }, { pbx: name })
        return success([], 'The PBX was removed.')
      },
      {
        ...takesNothing,
        params: NameOfPbx,
        response: responses(Nothing, 'unauthenticated', 'forbidden', 'not_found', ...READ_FAULTS, 'conflict'),
        detail: {
          summary: 'Remove a PBX',
          description: 'Only for administrators. Live calls end as `unknown`. A PBX of the settings answers 409.',
          ...about,
        },
      },
    )
    .post(
      '/pbx/check',
      async ({ body, request, server }) => {
        server?.timeout(request, CHECK_WITHIN_S)
        return success(await pbxs.check(body.url), 'These are the findings.')
      },
      {
        ...takes(PbxRequest),
        response: responses(t.Array(PbxFinding), 'unauthenticated', 'forbidden', ...BODY_FAULTS),
        detail: {
          summary: 'Check a PBX: connect, log in, and report what works and what is missing',
          description:
            'Only for administrators. Takes some 5 seconds. Answers 200 even if the PBX does not answer: then the report says so.',
          ...about,
        },
      },
    )
}
