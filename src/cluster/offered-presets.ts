import type { NodeRecord } from '../store/operations/cluster.ts'
import { stateOfNode } from './leases.ts'

/** Returns the presets of all nodes that are up; `undefined` without nodes, or with a node of an earlier version. */
export function offeredPresets(
  nodes: readonly Pick<NodeRecord, 'beatUs' | 'deadUs' | 'presets'>[],
  databaseUs: number,
): readonly string[] | undefined {
  const living = nodes.filter((node) => stateOfNode(node, databaseUs) === 'up')
  const known = living.flatMap(({ presets }) => (presets === null ? [] : [presets]))
  return living.length === 0 || known.length < living.length ? undefined : known.flat()
}
