import { expect, test } from 'bun:test'
import { createLiveTracker } from '../../../src/calls/ingest/live-tracker.ts'
import type { Signal } from '../../../src/calls/signal.ts'
import { newTracker } from '../../../src/calls/tracker/tracker.ts'
import { createLog } from '../../../src/lib/log.ts'
import { countingIds } from '../../help/play.ts'
import { RECORDINGS, signalsOf } from '../../help/recorded-signals.ts'

/** Longer than any deadline that a fact of the same moment must meet. */
const PAUSE_US = 500_000
/** A service that is further behind has lost its connections. */
const MOST_BEHIND_US = 30_000_000
/** Waits behind a list, and lives of calls, are longer than a recording that is processed in one go. */
const REST_US = 60_000_000

type Pace = {
  /** Each signal is processed so much later than the one before it. */
  readonly pauseUs: number
  /** It was read that late, too: only the PBX's stamp shows when it was sent. */
  readonly isReadLate?: boolean
}

/** Plays signals at a pace, and returns what is told of each call. */
async function told(signals: readonly Signal[], { pauseUs, isReadLate = false }: Pace): Promise<Map<string, string[]>> {
  const words = new Map<string, string[]>()
  let arrivedUs = 0
  let behindUs = 0
  const nowUs = (): number => arrivedUs + behindUs
  const tracker = createLiveTracker(newTracker('pbx', 'default', countingIds()), {
    pbx: 'pbx',
    onEvents: (events) => {
      for (const { name, body } of events) {
        const stage = 'stage' in body.data ? body.data.stage : undefined
        const { call } = body.data
        const line = [name, stage?.target, stage?.result, call.result, call.hangup?.by].join(' ')
        const key = `${call.pbx_id} ${call.started_at}`
        words.set(key, [...(words.get(key) ?? []), line])
      }
    },
    onFault: () => expect('a fault').toBe('none'),
    log: createLog('silent'),
    nowUs,
    steadyUs: nowUs,
  })
  for (const signal of signals) {
    // It was waited for: the service has caught up, and is late again.
    if (signal.arrivedUs - arrivedUs > PAUSE_US) behindUs = 0
    arrivedUs = signal.arrivedUs
    behindUs = Math.min(behindUs + pauseUs, MOST_BEHIND_US)
    tracker.apply([isReadLate ? { ...signal, arrivedUs: nowUs() } : signal])
    await tracker.caughtUp()
  }
  arrivedUs += REST_US
  tracker.tick()
  await tracker.caughtUp()
  await tracker.stop()
  return words
}

const SOME = RECORDINGS.filter((_, index) => index % 12 === 0)

test.each(SOME)('%s: what arrived together is told alike, however late it is processed', async (recording) => {
  const signals = signalsOf(recording)
  expect(await told(signals, { pauseUs: PAUSE_US })).toEqual(await told(signals, { pauseUs: 0 }))
})

test.each(SOME)('%s: what the PBX sent together is told alike, however late it is read', async (recording) => {
  const signals = signalsOf(recording)
  expect(await told(signals, { pauseUs: PAUSE_US, isReadLate: true })).toEqual(await told(signals, { pauseUs: 0 }))
})
