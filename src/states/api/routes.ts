import { Elysia, t } from 'elysia'
import { type AuthService, scopeGuard } from '../../auth/auth.ts'
import type { StateSubject } from '../../events/kinds.ts'
import { Agent, Phone, Queue, type States, Trunk } from '../../events/states.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, successInSlices } from '../../http/envelope.ts'
import { asks } from '../../http/query.ts'
import { named } from '../../lib/api-schema.ts'

/** Reads the present states of an account. */
export type StateReader = {
  /** Returns the states of one kind in order of name, of all PBXs or one. @throws Fault `unavailable`. */
  list<Kind extends StateSubject>(accountId: number, kind: Kind, pbx?: string): Promise<(States[Kind] & OfPbxState)[]>
  /** Returns the states of every account, each with its account and PBX. @throws Fault `unavailable`. */
  listAll<Kind extends StateSubject>(kind: Kind, pbx?: string): Promise<(States[Kind] & OfAccount)[]>
}

type OfPbxState = { readonly pbx: string }

/** Whose state it is, where the states of every account are listed. */
export type OfAccount = OfPbxState & { readonly account: string }

const pbx = t.String({ description: 'The name of the PBX that has it' })
const closed = { additionalProperties: false } as const
export const PresentPhone = named('PresentPhone', t.Object({ pbx, ...Phone.properties }, closed))
export const PresentTrunk = named('PresentTrunk', t.Object({ pbx, ...Trunk.properties }, closed))
export const PresentAgent = named('PresentAgent', t.Object({ pbx, ...Agent.properties }, closed))
export const PresentQueue = named('PresentQueue', t.Object({ pbx, ...Queue.properties }, closed))

const OfPbx = t.Object({ pbx: t.Optional(t.String({ maxLength: 256, description: 'Only of the PBX with this name' })) })

const detail = (summary: string, description: string) => ({
  summary,
  description,
  tags: ['Phones and queues'],
  security: [{ bearer: [] }],
})
const faults = ['unauthenticated', 'invalid'] as const

/** Creates the routes for the present states of an account's phones, trunks, agents and queues. */
export function stateRoutes(auth: AuthService, states: StateReader) {
  const listed = <Kind extends StateSubject>(
    scope: number | null,
    kind: Kind,
    pbx: string | undefined,
  ): Promise<(States[Kind] & OfPbxState)[]> =>
    scope === null ? states.listAll(kind, pbx) : states.list(scope, kind, pbx)
  return new Elysia({ name: 'states', normalize: false })
    .use(accepts)
    .use(scopeGuard(auth))
    .get(
      '/phone',
      async ({ scope, query }) => successInSlices(await listed(scope, 'phone', query.pbx), 'These are the phones.'),
      {
        ...asks(OfPbx, 'refused'),
        response: responses(t.Array(PresentPhone), ...faults),
        detail: detail(
          'The phones as they are now',
          'In order of extension. While the PBX is not connected, the last known states.',
        ),
      },
    )
    .get(
      '/trunk',
      async ({ scope, query }) => successInSlices(await listed(scope, 'trunk', query.pbx), 'These are the trunks.'),
      {
        ...asks(OfPbx, 'refused'),
        response: responses(t.Array(PresentTrunk), ...faults),
        detail: detail(
          'The trunks as they are now',
          'In order of name. Where a PBX serves several customers, only for the account that its URL names.',
        ),
      },
    )
    .get(
      '/agent',
      async ({ scope, query }) => successInSlices(await listed(scope, 'agent', query.pbx), 'These are the agents.'),
      {
        ...asks(OfPbx, 'refused'),
        response: responses(t.Array(PresentAgent), ...faults),
        detail: detail('The agents as they are now', 'One for each queue that an agent serves, in order of queue.'),
      },
    )
    .get(
      '/queue',
      async ({ scope, query }) => successInSlices(await listed(scope, 'queue', query.pbx), 'These are the queues.'),
      {
        ...asks(OfPbx, 'refused'),
        response: responses(t.Array(PresentQueue), ...faults),
        detail: detail('The queues as they are now', 'In order of name.'),
      },
    )
}
