import type { NodeRecord } from '../store/operations/cluster.ts'
import { SILENT_US } from './leases.ts'

/** `silent`: the node is about to be declared dead. */
export const NODE_STATES = ['up', 'silent', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

/** Returns the state of a node at a time of the database's clock. */
export const stateOfNode = (
  { deadUs, beatUs }: Pick<NodeRecord, 'deadUs' | 'beatUs'>,
  databaseUs: number,
): NodeState => (deadUs !== null ? 'dead' : databaseUs - beatUs >= SILENT_US ? 'silent' : 'up')

/** Returns what a node owns, by kind. */
export function ownedBy({ leases }: Pick<NodeRecord, 'leases'>) {
  const named = (kind: string) =>
    leases.filter((name) => name.startsWith(`${kind}:`)).map((name) => name.slice(kind.length + 1))
  return {
    accounts: named('account').map(Number),
    pbxs: named('pbx'),
    maintenance: leases.includes('maintenance'),
  }
}
