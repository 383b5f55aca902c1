import { readNotedSettings } from '../../app/settings-in-force.ts'
import { lackingPresets, stateOfNode } from '../../cluster/cluster.ts'
import { formatDuration } from '../../lib/time.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import { diagnoseDatabaseClock } from './database-server.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

type Node = Pick<NodeRecord, 'address' | 'beatUs' | 'deadUs' | 'clockAheadUs' | 'isLeaving' | 'settings' | 'presets'>

const SAME_FOLDER = 'give every node this version and the same files in the folder of --presets, and start it again'
const START = 'hookswitch serve --database-url …   starts one'

/**
 * Judges the nodes of a database by their rows: an address may be on another machine, where another service may
 * answer. A node that has left, or whose address belongs to another node since, is not missed.
 */
export function diagnoseNodes(nodes: readonly Node[], databaseUs: number): Diagnosis[] {
  const living = nodes.filter((node) => stateOfNode(node, databaseUs) === 'up')
  const addresses = new Set(living.map(({ address }) => address))
  const missing = nodes.filter(
    (node) => !living.includes(node) && !addresses.has(node.address) && !(node.isLeaving && node.deadUs !== null),
  )
  const heard = ({ beatUs }: Node): string =>
    `its last heartbeat was ${formatDuration(Math.max(0, databaseUs - beatUs) / 1_000)} ago`
  return [
    ...living.map((node) => ok('node', `${node.address} is up; ${heard(node)}`)),
    ...missing.map((node) =>
      wrong(
        'node',
        `${node.address} is ${stateOfNode(node, databaseUs)}; ${heard(node)}`,
        'start it again, and see its log; a node that is gone for good is forgotten after an hour',
      ),
    ),
    ...(living.length === 0 && missing.length === 0 ? [advice('node', 'no node runs on this database', START)] : []),
    ...diagnosePresets(living),
    ...nodes.flatMap(diagnoseDatabaseClock),
  ]
}

/** Names the presets that some nodes lack, or that differ between nodes. */
function diagnosePresets(living: readonly Node[]): Diagnosis[] {
  const lacking = living.flatMap((node) => lackingPresets(node, living).map((preset) => ({ preset, node })))
  const digests = living.flatMap(({ settings }) => Object.entries(readNotedSettings(settings)?.preset_files ?? {}))
  const different = [...Map.groupBy(digests, ([preset]) => preset)].filter(
    ([, some]) => new Set(some.map(([, digest]) => digest)).size > 1,
  )
  return [
    ...[...Map.groupBy(lacking, ({ preset }) => preset)].map(([preset, some]) => {
      const addresses = some.map(({ node }) => node.address).join(', ')
      const others = 'nodes that have it send for the accounts that use it'
      return wrong('presets', `${addresses} lacks the preset ${preset}: ${others}`, SAME_FOLDER)
    }),
    ...different.map(([preset]) =>
      wrong('presets', `the nodes have different files of the preset ${preset}`, SAME_FOLDER),
    ),
  ]
}
