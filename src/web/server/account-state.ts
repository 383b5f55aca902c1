import type { Ownership } from '../../cluster/cluster.ts'
import type { Emitter } from '../../deliveries/deliveries.ts'
import type { Log } from '../../lib/log.ts'
import type { NowUs } from '../../lib/time.ts'
import type { StatusStore } from '../../store/operations/statuses.ts'
import type { Store } from '../../store/store.ts'
import { startChangeNotes } from './change-notes.ts'
import { type FollowChanges, followNoChanges } from './event-stream.ts'
import { type Figures, figuresOfNodes, ownFigures } from './figures.ts'
import type { LastHour } from './last-hour.ts'
import { startStatusReporter } from './status-reporter.ts'
import { type FollowEvents, followAllEvents, followOwnEvents } from './stored-events.ts'
import {
  type OwnStatuses,
  type ReadWebhookStatuses,
  readAllStatuses,
  readOwnStatuses,
  webhookReports,
} from './webhook-statuses.ts'

/** The state of whole accounts as the page shows it, on whichever node it is open. */
type AccountState = {
  readonly figures: Figures
  readonly statuses: ReadWebhookStatuses
  readonly follow: FollowEvents
  readonly followChanges: FollowChanges
  stop(): Promise<void>
}

type Dependencies = {
  readonly store: Pick<Store, 'log' | 'statistics'>
  readonly emitter: Emitter
  readonly ownership: Ownership
  readonly lastHour: LastHour
  readonly own: OwnStatuses
  readonly log: Log
  readonly nowUs: NowUs
}

/**
 * Starts to show the state of accounts. A node that shares its database reports its own accounts, and reads the reports
 * of the others in `shared`. A single node knows everything itself.
 */
export function startAccountState(shared: StatusStore | undefined, parts: Dependencies): AccountState {
  const { store, emitter, ownership, lastHour, own, log, nowUs } = parts
  if (shared === undefined)
    return {
      figures: ownFigures(lastHour, nowUs),
      statuses: readOwnStatuses(own),
      follow: followOwnEvents(emitter),
      followChanges: followNoChanges,
      stop: async () => undefined,
    }
  const notes = startChangeNotes({ store: shared, emitter, log })
  const webhooks = webhookReports(own)
  const reporter = startStatusReporter({ statuses: shared, ownership, webhooks, log })
  return {
    figures: figuresOfNodes(store.statistics, nowUs),
    statuses: readAllStatuses(own, { ownership, store: shared }),
    follow: followAllEvents(store.log, log),
    followChanges: notes.follow,
    async stop() {
      await reporter.stop()
      await notes.stop()
    },
  }
}
