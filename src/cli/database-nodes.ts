import { readNotedSettings, type SettingsInForce } from '../app/settings-in-force.ts'
import { stateOfNode } from '../cluster/cluster.ts'
import type { DatabaseSource } from '../store/database-url.ts'
import { openClusterStore } from '../store/postgres/store.ts'

/** The facts that the nodes of a database leave in it for commands on other machines. */
type NodesInForce = {
  readonly isRunning: boolean
  /** The settings that all nodes have, with the URL of the first; `undefined`: they differ or are unknown. */
  readonly settings: SettingsInForce | undefined
}

/** Reads the settings of the nodes that run on a database. */
export async function readNodesInForce(source: DatabaseSource): Promise<NodesInForce> {
  const cluster = openClusterStore(source)
  try {
    const databaseUs = await cluster.clockGet()
    const nodes = await cluster.nodeList()
    const live = nodes.filter((node) => stateOfNode(node, databaseUs) !== 'dead')
    return { isRunning: live.length > 0, settings: commonSettings(live) }
  } finally {
    await cluster.stop()
  }
}

function commonSettings(nodes: readonly { readonly settings: string | null }[]): SettingsInForce | undefined {
  const [first, ...others] = nodes.map(({ settings }) => readNotedSettings(settings))
  if (first === undefined) return undefined
  const isCommon = others.every((one) => one !== undefined && Bun.deepEquals({ ...one, url: first.url }, first))
  return isCommon ? first : undefined
}
