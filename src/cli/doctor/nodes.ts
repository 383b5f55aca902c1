import { readNotedSettings } from '../../app/settings-in-force.ts'
import { stateOfNode } from '../../cluster/cluster.ts'
import { formatDuration } from '../../lib/time.ts'
import type { NodeRecord } from '../../store/operations/cluster.ts'
import { diagnoseDatabaseClock } from './database-server.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

type Node = Pick<NodeRecord, 'address' | 'beatUs' | 'deadUs' | 'clockAheadUs' | 'isLeaving' | 'settings'>

const SAME_FOLDER = 'give every node the same files in the folder of --presets, and start it again'
const START = 'hookswitch serve --database-url …   starts one'

/**
 * Judges the nodes of a database by their rows in it: an address may be on another machine, and whatever answers there
 * may be another service. A node that has left, or whose address another node has since, is not missed.
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

/** Names the presets of files that not all nodes have: a node that lacks one lets its deliveries wait. */
function diagnosePresets(living: readonly Node[]): Diagnosis[] {
  const noted = living.flatMap(({ address, settings }) => {
    const files = readNotedSettings(settings)?.preset_files
    return files === undefined ? [] : [{ address, files: new Map(Object.entries(files)) }]
  })
  const names = [...new Set(noted.flatMap(({ files }) => [...files.keys()]))].toSorted()
  return names.flatMap((name) => {
    const lacking = noted.filter(({ files }) => !files.has(name)).map(({ address }) => address)
    const digests = new Set(noted.flatMap(({ files }) => files.get(name) ?? []))
    if (lacking.length > 0)
      return [
        wrong('presets', `${lacking.join(', ')} lacks the preset ${name}: its deliveries wait there`, SAME_FOLDER),
      ]
    if (digests.size === 1) return []
    return [wrong('presets', `the nodes have different files of the preset ${name}`, SAME_FOLDER)]
  })
}
