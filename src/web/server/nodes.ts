import { Elysia, t } from 'elysia'
import { type AuthService, adminGuard } from '../../auth/auth.ts'
import { ownedBy, stateOfNode } from '../../cluster/cluster.ts'
import { accepts } from '../../http/accepts.ts'
import { responses, success } from '../../http/envelope.ts'
import { rfc3339 } from '../../lib/time.ts'
import type { ClusterStore } from '../../store/operations/cluster.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import { Node } from '../model.ts'
import { createFreshReader } from './fresh-reader.ts'

/** The nodes that share the database of this one. */
type Cluster = {
  readonly store: Pick<ClusterStore, 'nodeList' | 'clockGet'>
  readonly statuses: Pick<StatusStore, 'accountListByNode'>
  readonly nodeId: () => string
}

/** Many pages may be open. */
const FRESH_MS = 1_000
const MAX_ACCOUNTS = 100

/**
 * Creates `GET /node`, for administrators: the nodes, and the accounts and PBXs that each owns. Without a cluster the
 * list is empty.
 */
export function nodeRoutes(auth: AuthService, cluster: Cluster | undefined) {
  const nodesOf = createFreshReader(FRESH_MS, readNodes)
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

async function readNodes({ store, statuses, nodeId }: Cluster): Promise<Node[]> {
  const [nodes, databaseUs, named] = await Promise.all([
    store.nodeList(),
    store.clockGet(),
    statuses.accountListByNode(MAX_ACCOUNTS),
  ])
  const accountsOf = Map.groupBy(named, ({ node }) => node)
  return nodes.map((node) => {
    const { accounts, pbxs, maintenance } = ownedBy(node)
    return {
      address: node.address,
      version: node.version,
      state: stateOfNode(node, databaseUs),
      since: rfc3339(node.startedUs),
      last_heard_of: rfc3339(node.beatUs),
      account_count: accounts.length,
      accounts: accounts.length === 0 ? [] : (accountsOf.get(node.id) ?? []).map(({ account }) => account),
      pbxs,
      maintenance,
      answers: node.id === nodeId(),
    }
  })
}
