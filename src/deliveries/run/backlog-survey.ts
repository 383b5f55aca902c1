import {
  type Backlog,
  type Backlogs,
  beginLoad,
  endLoad,
  needsLoad,
  noteRetriesRead,
  noteUntriedRead,
} from '../queue/backlog.ts'
import { type BacklogReaderOptions, isOwnWebhook } from './backlog-reader.ts'

/** Webhooks per statement: other statements wait for it. */
const MAX_SURVEYED = 1_000
/** Loading fewer webhooks one by one is as quick. */
const WORTH_A_SURVEY = 5

type BacklogSurvey = {
  /** Begins a survey where one is worth it. */
  begin(): void
  /** Returns whether a survey will check a webhook: until then it is not loaded. */
  isAwaited(backlog: Backlog): boolean
  /** Notes that a webhook is loaded: a later change of its backlog is surveyed again. */
  noteLoad(backlog: Backlog): void
}

type BacklogSurveyOptions = BacklogReaderOptions & {
  readonly backlogs: Backlogs
  readonly onSurveyed: () => void
  readonly onFailed: (error: unknown) => void
}

/**
 * Creates the survey of backlogs: one read finds which of many webhooks have pending deliveries. A node that takes over
 * accounts, or notices that a PBX has a new owner, must check all its webhooks, and few have any. Only a shared
 * database, with its round trips, needs the survey.
 */
export function createBacklogSurvey(options: BacklogSurveyOptions): BacklogSurvey {
  const { queue, webhooks, ownership, backlogs, steadyUs, onSurveyed, onFailed } = options
  /** Backlogs in which a survey has found something. */
  const found = new WeakSet<Backlog>()
  let isRunning = false

  const isCrowded = () => ownership.isShared && backlogs.toLoad.size >= WORTH_A_SURVEY
  const canSurvey = (backlog: Backlog) =>
    !found.has(backlog) &&
    !backlog.isStrict &&
    backlog.load === undefined &&
    webhooks.get(backlog.webhookId)?.isStrict === false &&
    isOwnWebhook(options, backlog.webhookId) &&
    needsLoad(backlog, steadyUs())

  async function survey(some: readonly Backlog[]): Promise<void> {
    const loads = some.map(beginLoad)
    const afterIds = some.map(({ webhookId, cursor }) => Math.max(cursor, webhooks.get(webhookId)?.cancelledTo ?? 0))
    try {
      const rows = await queue.pendingGetFirst({ webhookIds: some.map(({ webhookId }) => webhookId), afterIds })
      const first = new Map(rows.map((row) => [row.webhookId, row]))
      for (const [at, backlog] of some.entries()) {
        const load = loads[at]
        // Deliveries that left memory meanwhile may be missing in the answer.
        if (load === undefined || load.isStale || load.released.size > 0 || !isOwnWebhook(options, backlog.webhookId))
          continue
        const { untriedId, dueSteadyUs } = first.get(backlog.webhookId) ?? {}
        if (untriedId === undefined) noteUntriedRead(backlog, { lastId: 0, hasMore: load.moreStored })
        noteRetriesRead(backlog, dueSteadyUs)
      }
    } finally {
      for (const backlog of some) {
        endLoad(backlog)
        if (!needsLoad(backlog, steadyUs())) continue
        found.add(backlog)
        backlogs.toLoad.add(backlog)
      }
    }
  }

  return {
    begin() {
      if (isRunning || !isCrowded()) return
      const some: Backlog[] = []
      for (const backlog of backlogs.toLoad) {
        if (some.length === MAX_SURVEYED) break
        if (canSurvey(backlog)) some.push(backlog)
      }
      if (some.length < WORTH_A_SURVEY) return
      for (const backlog of some) backlogs.toLoad.delete(backlog)
      isRunning = true
      survey(some)
        .catch(onFailed)
        .finally(() => {
          isRunning = false
          onSurveyed()
        })
    },
    isAwaited: (backlog) => isRunning && isCrowded() && canSurvey(backlog),
    noteLoad: (backlog) => void found.delete(backlog),
  }
}
