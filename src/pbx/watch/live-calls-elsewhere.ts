import { type AccountDirectory, type LiveCall, openTracker } from '../../calls/calls.ts'
import { newUuid } from '../../lib/id.ts'
import type { Log } from '../../lib/log.ts'
import type { Store } from '../../store/store.ts'
import { ownersOf } from '../connection/call-owners.ts'
import type { PbxSource } from '../source/pbx-url.ts'

type ElsewhereOptions = {
  readonly store: Pick<Store, 'calls'>
  readonly accounts: Pick<AccountDirectory, 'get' | 'spellingOf'>
  readonly log: Log
  readonly pbxs: () => readonly PbxSource[]
}

/** The greatest age of displayed calls of PBXs that other nodes watch. */
const FRESH_MS = 500

/** Creates the view of live calls on PBXs that other nodes watch, as those nodes stored them. */
export function createCallsElsewhere({ store, accounts, log, pbxs }: ElsewhereOptions) {
  let ofPbxs: readonly ((accountId: number) => Iterable<LiveCall>)[] = []
  let readMs = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    const sources = pbxs()
    const trackers = sources.map((source) =>
      openTracker({
        ...ownersOf(source, accounts),
        calls: store.calls,
        history: undefined,
        pbx: source.name,
        country: source.country,
        log,
        newId: newUuid,
      }),
    )
    ofPbxs = (await Promise.all(trackers)).map(({ liveCallsOf }) => liveCallsOf)
    readMs = performance.now()
  }

  return {
    /** Reads the calls, unless they were read just now. @throws Fault `unavailable`. */
    async refresh(): Promise<void> {
      if (pbxs().length === 0) {
        ofPbxs = []
        return
      }
      if (performance.now() - readMs < FRESH_MS) return
      reading ??= read().finally(() => {
        reading = undefined
      })
      await reading
    },
    /** Yields the calls of an account, as of the last read. */
    *liveCalls(accountId: number): Generator<LiveCall> {
      for (const liveCallsOf of ofPbxs) yield* liveCallsOf(accountId)
    },
  }
}
