import { Elysia, t } from 'elysia'
import { type AuthService, adminGuard } from '../../auth/auth.ts'
import { lackingPresets, ownedBy, stateOfNode } from '../../cluster/cluster.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { MILLISECOND, rfc3339 } from '../../lib/time.ts'
import { type PbxState, readPbxStates } from '../../pbx/pbx.ts'
import type { ClusterStore } from '../../store/operations/cluster.ts'
import type { PbxStore } from '../../store/operations/pbxs.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import { Node } from '../model.ts'
import { createFreshReader } from './fresh-reader.ts'

/** The nodes that share a database. */
export type Cluster = {
  readonly store: Pick<ClusterStore, 'nodeList' | 'clockGet'>
  readonly statuses: Pick<StatusStore, 'accountListByNode'>
  /** Returns the id of the node that answers; `undefined`: a command answers itself. */
  readonly nodeId: () => string | undefined
}

type Sources = { readonly cluster: Cluster; readonly pbxs: Pick<PbxStore, 'pbxStateList'> }

/** Many pages may be open. */
const FRESH_MS = 1_000
const MAX_ACCOUNTS = 100

/**
 * Creates `GET /node`, for administrators: the nodes, and the accounts and PBXs that each owns. Without a cluster the
 * list is empty.
 */
export function nodeRoutes(auth: AuthService, cluster: Cluster | undefined, pbxs: Sources['pbxs']) {
  const nodesOf = createFreshReader(FRESH_MS, (of: Cluster) => readNodes({ cluster: of, pbxs }))
  return new Elysia({ name: 'nodes', normalize: false })
    .use(accepts)
    .use(adminGuard(auth))
    .get('/node', async () => success(cluster === undefined ? [] : await nodesOf(cluster), 'These are the nodes.'), {
      response: responses(t.Array(Node), 'unauthenticated', 'forbidden'),
      detail: {
        summary: 'The nodes that share a database, and what each of them owns, for administrators',
        description:
          'In the order in which they joined; dead ones for an hour. Empty for a service with a folder of its own.',
        tags: ['Page'],
        security: [{ bearer: [] }],
      },
    })
}

async function readNodes({ cluster: { store, statuses, nodeId }, pbxs }: Sources): Promise<Node[]> {
  const [nodes, databaseUs, named, pbxStates] = await Promise.all([
    store.nodeList(),
    store.clockGet(),
    statuses.accountListByNode(MAX_ACCOUNTS),
    pbxs.pbxStateList(),
  ])
  const accountsOf = Map.groupBy(named, ({ node }) => node)
  const states = readPbxStates(pbxStates, databaseUs)
  const living = nodes.filter((node) => stateOfNode(node, databaseUs) !== 'dead')
  return nodes.map((node) => {
    const owned = ownedBy(node)
    return {
      id: node.id,
      address: node.address,
      version: node.version,
      state: stateOfNode(node, databaseUs),
      since: rfc3339(node.startedUs),
      last_heard_of: rfc3339(node.beatUs),
      clock_ahead_ms: node.clockAheadUs === null ? null : Math.round(node.clockAheadUs / MILLISECOND),
      account_count: owned.accounts.length,
      accounts: owned.accounts.length === 0 ? [] : (accountsOf.get(node.id) ?? []).map(({ account }) => account),
      pbxs: owned.pbxs,
      pbx_states: owned.pbxs.map((name) => stateOfPbx(name, states.get(name))),
      presets: [...(node.presets ?? [])],
      lacking_presets: living.includes(node) ? lackingPresets(node, living) : [],
      maintenance: owned.maintenance,
      answers: node.id === nodeId(),
    }
  })
}

/** A node that has just taken over a PBX has not stored the state of the PBX yet. */
function stateOfPbx(name: string, known: PbxState | undefined): Node['pbx_states'][number] {
  if (known === undefined) return { name, state: 'connecting', since: null, error: null }
  return { name, state: known.state, since: rfc3339(known.sinceUs), error: known.error }
}
