import { join } from 'node:path'
import {
  type DownWebhook,
  lastErrorOf,
  readNotedSettings,
  readServiceNote,
  type SettingsInForce,
} from '../app/service-note.ts'
import { stateOfNode } from '../cluster/cluster.ts'
import { formatDuration, nowUs, parseTime, rfc3339 } from '../lib/time.ts'
import type { DatabaseSource } from '../store/database-url.ts'
import { newClient } from '../store/postgres/engine/client.ts'
import { createStatusStore } from '../store/postgres/statuses.ts'
import { openClusterStore } from '../store/postgres/store.ts'
import { isServed } from '../store/sqlite/engine/folder-lock.ts'
import { reportedStatus } from '../web/web.ts'
import type { StorePlace } from './suggested-commands.ts'

/** The facts that a command can find out about the service on its store. */
type RunningState = {
  readonly isRunning: boolean
  /** `undefined`: not known here. */
  readonly settings: SettingsInForce | undefined
  /** The ids of the given webhooks that are down. */
  readonly down: ReadonlyMap<number, DownWebhook>
  /** The ids of the given webhooks whose receivers refuse all that they get. */
  readonly refusing: ReadonlyMap<number, DownWebhook>
}

const STATEMENT_MS = 5_000
const NOT_RUNNING: RunningState = { isRunning: false, settings: undefined, down: new Map(), refusing: new Map() }

/** Reads the state of the service that runs on a store, and which of these webhooks are down. */
export async function readRunningState(place: StorePlace, webhookIds: readonly number[]): Promise<RunningState> {
  const { dataPath, database } = place
  if (database !== undefined) return await readNodesState(database, webhookIds)
  const note = await readServiceNote(dataPath)
  if (note === undefined) return { ...NOT_RUNNING, isRunning: isHeld(dataPath) }
  const wanted = new Set(webhookIds)
  const byId = (listed: readonly DownWebhook[]) =>
    new Map(listed.filter((one) => wanted.has(one.webhookId)).map((one) => [one.webhookId, one]))
  return { isRunning: true, settings: note.settings, down: byId(note.down), refusing: byId(note.refusing ?? []) }
}

/** Returns whether a service holds a data folder; false where the lock cannot be read. */
export function isHeld(folder: string): boolean {
  try {
    return isServed(join(folder, 'lock'))
  } catch {
    // This user may not open the lock, or it is none: the store itself reports the reason.
    return false
  }
}

/** Returns the settings that all nodes have, with the URL of the first; `undefined` if they differ or are unknown. */
function commonSettings(nodes: readonly { readonly settings: string | null }[]): SettingsInForce | undefined {
  const [first, ...others] = nodes.map(({ settings }) => readNotedSettings(settings))
  if (first === undefined) return undefined
  const isCommon = others.every((one) => one !== undefined && Bun.deepEquals({ ...one, url: first.url }, first))
  return isCommon ? first : undefined
}

/** Reads the reports of a database's nodes. */
async function readNodesState(source: DatabaseSource, webhookIds: readonly number[]): Promise<RunningState> {
  const cluster = openClusterStore(source)
  const client = newClient(source, { role: 'status', connections: 1, statementMs: STATEMENT_MS })
  const statuses = createStatusStore(client, { listen: () => async () => undefined })
  try {
    const databaseUs = await cluster.clockGet()
    const nodes = await cluster.nodeList()
    const live = nodes.filter((node) => stateOfNode(node, databaseUs) !== 'dead')
    if (live.length === 0) return NOT_RUNNING
    const rows = await statuses.webhookStatusGetMany(webhookIds)
    const down = new Map<number, DownWebhook>()
    const refusing = new Map<number, DownWebhook>()
    for (const { webhookId, status, isPresent } of rows) {
      const { downSinceUs, refusingSinceUs, last } = reportedStatus(status, isPresent)
      const error = lastErrorOf(last)
      const downSince = rfc3339(Math.round(nowUs() - databaseUs + (downSinceUs ?? 0)))
      if (downSinceUs !== null) down.set(webhookId, { webhookId, since: downSince, error })
      if (refusingSinceUs !== null) refusing.set(webhookId, { webhookId, since: rfc3339(refusingSinceUs), error })
    }
    return { isRunning: true, settings: commonSettings(live), down, refusing }
  } finally {
    await client.stop()
    await cluster.stop()
  }
}

/** Returns for how long a webhook has been down, and why: `for 3 min: connection refused`. */
export const describeDown = ({ since, error }: Pick<DownWebhook, 'since' | 'error'>): string =>
  `for ${formatDuration((nowUs() - (parseTime(since) ?? nowUs())) / 1_000)}: ${error}`
