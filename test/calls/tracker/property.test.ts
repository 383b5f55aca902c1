import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/calls/event.ts'
import type { Signal } from '../../../src/calls/signal.ts'
import { contradiction, createLedger, leftover } from '../../help/ledger.ts'
import { mutatedRecordings } from '../../help/mutate.ts'
import { type LiveCalls, player, saveChanges } from '../../help/play.ts'
import { createRandom, type Random } from '../../help/random.ts'
import { randomSignals } from '../../help/signals.ts'

// PROPERTY_STREAMS=1000000 PROPERTY_SEED=7 bun test test/calls/tracker/property.test.ts
const STREAMS = Number(process.env.PROPERTY_STREAMS ?? 5_000)
const SEED = Number(process.env.PROPERTY_SEED ?? 20_261_120)

/** A single stream is printed in full. */
const IS_TRACED = STREAMS === 1

const START_US = 1_795_213_000_000_000
const SECOND = 1_000_000

/** Feeds a stream to a tracker that is stored and read back from time to time, and holds every event against the promises. */
function run(signals: readonly Signal[], random: Random): void {
  const ledger = createLedger()
  const store: LiveCalls = new Map()
  const played = player({
    onTracked({ events }, signal, state) {
      if (IS_TRACED) trace(signal, events)
      ledger.take(events)
      const wrong = contradiction(state)
      if (wrong !== undefined) throw new Error(wrong)
      // Events and the calls they are of are stored together; a change without events is stored later, or never.
      if (events.length > 0 || random.chance(0.3)) saveChanges(state, store)
    },
  })
  const { feed, tickUntil: wait } = played
  const restart = (atUs: number): void => {
    if (IS_TRACED) console.log('restart with', [...store.keys()])
    played.restart(store)
    feed({ kind: 'connected', first: true, boot: random.pick([null, 'one', 'two']), atUs, arrivedUs: atUs })
  }

  for (const signal of signals) {
    wait(signal.arrivedUs)
    if (random.chance(0.01)) restart(signal.arrivedUs)
    feed(signal)
  }
  let atUs = played.state.nowUs
  for (let lists = 0; lists < 2; lists++) {
    atUs += 2 * SECOND
    wait(atUs)
    feed({ kind: 'snapshot', channels: [], atUs, arrivedUs: atUs })
  }
  atUs += 10 * SECOND
  wait(atUs)
  feed({ kind: 'tick', atUs, arrivedUs: atUs })
  const { state } = played
  saveChanges(state, store)
  if (IS_TRACED) console.log([...state.channels.values()], [...state.calls.values()])
  ledger.finish()
  const left = leftover(state) ?? (store.size > 0 ? `${store.size} stored calls` : undefined)
  if (left !== undefined) throw new Error(`nothing is up, and there is still: ${left}`)
}

function trace(signal: Signal, events: readonly CallEvent[]): void {
  const { atUs, arrivedUs, ...what } = signal
  if (what.kind !== 'tick')
    console.log((arrivedUs - START_US) / SECOND, (atUs - arrivedUs) / SECOND, JSON.stringify(what))
  for (const { callId, name, body } of events)
    console.log('    ', callId, name, 'stage' in body.data ? body.data.stage?.id : '')
}

function streams(what: string, count: number, make: (random: Random) => { name: string; signals: Signal[] }): void {
  test(`${count} ${what} break no promise (seed ${SEED})`, () => {
    for (let index = 0; index < count; index++) {
      const seed = (SEED + Math.imul(index, 2_654_435_761)) >>> 0
      const random = createRandom(seed)
      const { name, signals } = make(random)
      try {
        run(signals, random)
      } catch (error) {
        const why = error instanceof Error ? error.stack : String(error)
        throw new Error(`stream ${index} (${name}, PROPERTY_SEED=${seed} PROPERTY_STREAMS=1): ${why}`)
      }
    }
    expect(count).toBeGreaterThan(0)
  }, 3_600_000)
}

streams('streams of signals at random', Math.ceil(STREAMS * 0.9), (random) => ({
  name: 'random',
  signals: randomSignals(random, 5 + random.int(60), START_US),
}))

const recordings = mutatedRecordings(400)
streams('mutated recordings', Math.ceil(STREAMS * 0.1), (random) => {
  const recording = random.pick(recordings)
  return { name: recording.name, signals: recording.signals(random, START_US) }
})
