import { type Ingest, startIngest } from '../calls/ingest.ts'
import type { LiveCall } from '../calls/tracker.ts'
import type { Database } from '../db/database.ts'
import type { Stored } from '../deliveries/outbox.ts'
import type { Log } from '../lib/log.ts'
import type { PbxSource } from '../lib/pbx-url.ts'
import { createAmiSignals } from './ami/signals.ts'
import { createEslSignals } from './esl/signals.ts'
import { type PbxStatus, type Supervisor, startSupervisor, type Translators } from './supervisor.ts'

/** Who turns what a PBX says into signals. */
export const TRANSLATORS: Translators = { ami: createAmiSignals, esl: createEslSignals }

export type Watch = {
  status(): readonly PbxStatus[]
  /** The calls of an account that are up. */
  liveCalls(accountId: number): LiveCall[]
  /** Events that are told but not on disk yet, of all PBXs. */
  waiting(): number
  stop(): Promise<void>
}

export type WatchOptions = {
  readonly db: Database
  readonly pbxs: readonly PbxSource[]
  /** The id of each account by name. */
  readonly accounts: ReadonlyMap<string, number>
  readonly onStored: (stored: readonly Stored[]) => void
  readonly log: Log
}

/** Watches every PBX: connection → signals → tracker → store. */
export async function startWatch(options: WatchOptions): Promise<Watch> {
  const { db, accounts, onStored, log } = options
  const watched: { accountId: number; supervisor: Supervisor; ingest: Ingest }[] = []
  for (const source of options.pbxs) {
    const accountId = accounts.get(source.account)
    if (accountId === undefined) throw new Error(`the account ${source.account} was not looked up`)
    let supervisor: Supervisor | undefined
    const ingest = await startIngest({
      db,
      pbx: source.name,
      account: source.account,
      accountId,
      onStored,
      onMissed: () => supervisor?.reconnect(),
      log,
    })
    supervisor = startSupervisor({ source, translators: TRANSLATORS, feed: ingest.feed, log })
    watched.push({ accountId, supervisor, ingest })
  }
  return {
    status: () => watched.map(({ supervisor }) => supervisor.status()),
    liveCalls: (accountId) => watched.flatMap((one) => (one.accountId === accountId ? one.ingest.liveCalls() : [])),
    waiting: () => watched.reduce((sum, { ingest }) => sum + ingest.waiting(), 0),
    async stop() {
      await Promise.all(watched.map(({ supervisor }) => supervisor.stop()))
      await Promise.all(watched.map(({ ingest }) => ingest.stop()))
    },
  }
}
