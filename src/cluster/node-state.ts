import type { NodeRecord } from '../store/operations/cluster.ts'
import { SILENT_US } from './leases.ts'

/** `silent`: others are about to find it dead. */
export const NODE_STATES = ['up', 'silent', 'dead'] as const
type NodeState = (typeof NODE_STATES)[number]

/** Returns whether a node is alive, as far as the database knows at a time of its own clock. */
export const stateOfNode = (
  { deadUs, beatUs }: Pick<NodeRecord, 'deadUs' | 'beatUs'>,
  databaseUs: number,
): NodeState => (deadUs !== null ? 'dead' : databaseUs - beatUs >= SILENT_US ? 'silent' : 'up')

/** Returns what a node owns, by the kinds of leases. */
export function ownedBy({ leases }: Pick<NodeRecord, 'leases'>) {
  const named = (kind: string) =>
    leases.filter((name) => name.startsWith(`${kind}:`)).map((name) => name.slice(kind.length + 1))
  return {
    accounts: named('account').map(Number),
    pbxs: named('pbx'),
    maintenance: leases.includes('maintenance'),
  }
}
