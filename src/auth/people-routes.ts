import { Elysia, t } from 'elysia'
import { accepts } from '../http/accepts.ts'
import { BODY_FAULTS, READ_FAULTS, takes, takesNothing } from '../http/body.ts'
import { Nothing, responses, success } from '../http/envelope.ts'
import { asks } from '../http/query.ts'
import { Fault } from '../lib/fault.ts'
import { USER_TYPES } from '../store/operations/accounts.ts'
import type { AuditFacts } from '../store/operations/audit.ts'
import type { Actor, Audit, SecurityEvent } from './audit.ts'
import { adminGuard } from './guard.ts'
import { TOKEN_ID, TokenInfo } from './model.ts'
import { passwordRule } from './password.ts'
import { type People, userRule } from './people.ts'
import { Account, LoggedOut, NewUser, User, UserChanges, UserWithLink } from './people-model.ts'
import type { AuthService } from './service.ts'

const about = { tags: ['People'], security: [{ bearer: [] }] }

const Params = t.Object({ id: t.String({ description: 'The id of the user', form: { pattern: '^[1-9][0-9]*$' } }) })
const TokenParams = t.Object({
  ...Params.properties,
  token: t.String({ description: 'The id of the token', form: TOKEN_ID }),
})
const Query = t.Object({
  account: t.Optional(t.String({ maxLength: 64, description: 'Only the users of this account' })),
})

const faults = ['unauthenticated', 'forbidden'] as const
const ofUser = [...faults, 'not_found', ...READ_FAULTS] as const

type Dependencies = {
  readonly auth: AuthService
  readonly people: People
  readonly audit: Audit
  /** Returns the address that links begin with, for a request; `undefined`: none is known. */
  readonly linkBase: (request: Request) => string | undefined
}

type Asker = {
  readonly user: Actor['user']
  readonly request: Request
  readonly server: Parameters<Audit['clientOf']>[1]
}

/** Creates the routes by which administrators manage accounts and users. */
export function peopleRoutes({ auth, people, audit, linkBase }: Dependencies) {
  const note = (event: SecurityEvent, { user, request, server }: Asker, changed: User, facts?: AuditFacts) =>
    audit.note(event, { user, client: audit.clientOf(request, server) }, facts, changed)
  const sourceOf = ({ user, request, server }: Asker) => ({
    network: audit.clientOf(request, server).network,
    user: user?.email ?? '',
  })
  return new Elysia({ name: 'people', normalize: false, encodeSchema: false })
    .use(accepts)
    .use(adminGuard(auth))
    .get('/account', async () => success(await people.accounts(), 'These are the accounts.'), {
      response: responses(t.Array(Account), ...faults),
      detail: { summary: 'All accounts, for administrators', description: 'In order of name.', ...about },
    })
    .get('/user', async ({ query }) => success(await people.users(query.account), 'These are the users.'), {
      ...asks(Query),
      response: responses(t.Array(User), ...faults, 'invalid'),
      detail: {
        summary: 'All users, or those of an account, for administrators',
        description: 'In order of id.',
        ...about,
      },
    })
    .post(
      '/user',
      async ({ body, user, request, server }) => {
        const by = { user, request, server }
        const added = await people.add(body, { source: sourceOf(by), base: linkBase(request) })
        await note(added.type === 'ADMIN' ? 'admin_added' : 'user_added', by, added)
        return success(added, added.link === undefined ? 'The user was added.' : 'The user was added: send the link.')
      },
      {
        ...takes(NewUser, (body) => [...userRule(body), ...passwordRule(body)]),
        response: responses(UserWithLink, ...faults, ...BODY_FAULTS, 'conflict'),
        detail: {
          summary: 'Add a user',
          description:
            'Without `password` the result has `link`, with which the user chooses one: once, within 3 days. A new account is made by its first user. 409 if the e-mail address is taken.',
          ...about,
        },
      },
    )
    .patch(
      '/user/:id',
      async ({ body, params, user, request, server }) => {
        const by = { user, request, server }
        if (body.password !== undefined && !auth.isOperators(request)) throw onlyByOperator()
        const before = await people.find(idOf(params.id))
        const changed = await people.change(before.id, body, sourceOf(by))
        const isAdmin = changed.type === 'ADMIN'
        const wasAdmin = before.type === USER_TYPES.ADMIN
        if (isAdmin !== wasAdmin) await note(isAdmin ? 'user_made_admin' : 'admin_made_user', by, changed)
        if (body.password !== undefined) await note('user_password_set', by, changed)
        const facts = changesOf(before, changed)
        if (facts !== undefined) await note('user_changed', by, changed, facts)
        return success(changed, 'The user was changed.')
      },
      {
        ...takes(UserChanges, (body) => [...userRule(body), ...passwordRule(body)]),
        params: Params,
        response: responses(User, ...ofUser, 'invalid', 'conflict'),
        detail: {
          summary: "Change a user's name, type or account",
          description:
            'With another account the sessions go with the user, and API tokens are revoked. An account that does not exist is 422. 409 for the last administrator, who stays one.',
          ...about,
        },
      },
    )
    .delete(
      '/user/:id',
      async ({ params, user, request, server }) => {
        const before = await people.find(idOf(params.id))
        await people.remove(before.id)
        await audit.note('user_removed', { user, client: audit.clientOf(request, server) }, {}, before)
        return success([], 'The user was removed.')
      },
      {
        ...takesNothing,
        params: Params,
        response: responses(Nothing, ...ofUser, 'conflict'),
        detail: {
          summary: 'Remove a user and all its tokens',
          description: 'The account stays, also without users. 409 for the last administrator.',
          ...about,
        },
      },
    )
    .post(
      '/user/:id/logout',
      async ({ params, user, request, server }) => {
        const id = idOf(params.id)
        const revoked = await people.logOut(id)
        await audit.note(
          'user_logged_out',
          { user, client: audit.clientOf(request, server) },
          {},
          await people.find(id),
        )
        return success({ revoked }, 'All tokens of the user were revoked.')
      },
      {
        ...takesNothing,
        params: Params,
        response: responses(LoggedOut, ...ofUser),
        detail: { summary: 'Revoke all tokens of a user', description: 'Sessions and API tokens, at once.', ...about },
      },
    )
    .post(
      '/user/:id/link',
      async ({ params, user, request, server }) => {
        const invited = await people.link(idOf(params.id), linkBase(request))
        await note('user_invited', { user, request, server }, invited)
        return success(invited, 'The link was made: send it to the user.')
      },
      {
        ...takesNothing,
        params: Params,
        response: responses(UserWithLink, ...ofUser, 'invalid'),
        detail: {
          summary: 'Make a link with which a user chooses a new password',
          description: 'Once, within 3 days; the old password works until then. An earlier link becomes void.',
          ...about,
        },
      },
    )
    .get(
      '/user/:id/token',
      async ({ params }) => success(await people.tokens(idOf(params.id)), 'The tokens of the user.'),
      {
        params: Params,
        response: responses(t.Array(TokenInfo), ...faults, 'not_found'),
        detail: {
          summary: 'The sessions and API tokens of a user',
          description: 'The 200 most recently used. The tokens themselves cannot be read.',
          ...about,
        },
      },
    )
    .delete(
      '/user/:id/token/:token',
      async ({ params, user, request, server }) => {
        const owner = await people.find(idOf(params.id))
        await people.revoke(owner.id, params.token)
        const client = audit.clientOf(request, server)
        await audit.note('token_revoked', { user, client }, { token: params.token }, owner)
        return success([], 'The token was revoked.')
      },
      {
        ...takesNothing,
        params: TokenParams,
        response: responses(Nothing, ...ofUser),
        detail: {
          summary: 'Revoke one session or API token of a user',
          description: 'Ends it at once. `GET /user/{id}/token` lists the ids.',
          ...about,
        },
      },
    )
}

/** Returns the id of a user in a path; 0, which no user has, for any other text: each user has one path. */
const idOf = (text: string): number => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : 0)

/** Only the operator of the machine chooses a password for another user; administrators make a link. */
const onlyByOperator = () =>
  new Fault(
    'invalid',
    'Passwords are set by the control socket alone: POST /user/{id}/link makes a link for a new one.',
    {
      errors: [{ path: '/password', message: 'is an unknown field' }],
    },
  )

type Named = { readonly name: string; readonly account: string }

/** Returns what changed in a user's name and account; `undefined`: nothing. */
function changesOf(before: Named, after: Named): AuditFacts | undefined {
  const changed = [
    ...(before.name === after.name ? [] : ['name']),
    ...(before.account === after.account ? [] : ['account']),
  ]
  if (changed.length === 0) return undefined
  return { changed, ...(before.account === after.account ? {} : { from: before.account }) }
}
