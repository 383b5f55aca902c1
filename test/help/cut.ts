import type { CallEvent } from '../../src/events/bodies.ts'
import { SECOND } from '../../src/lib/time.ts'
import type { Tape } from './dropped.ts'
import { player } from './play.ts'
import type { Random } from './random.ts'

/** Plays a recording whose connection is lost for some seconds, with a list at the reconnect and one 2 s later. */

const START_US = 1_795_213_000_000_000
const RELIST_US = 2 * SECOND

/**
 * A lost connection, in microseconds of the recording. `answerUs`: the first list is answered so much later, and what
 * comes until then is read after it.
 */
export type Cut = { readonly fromUs: number; readonly untilUs: number; readonly answerUs?: number }

/** Returns a cut of 1 to 4 s at a random moment of a recording. */
export function randomCut(random: Random, tape: Tape): Cut {
  const endUs = tape.steps === 0 ? 0 : tape.atUs(tape.steps - 1)
  const fromUs = random.int(Math.max(1, endUs))
  return { fromUs, untilUs: fromUs + SECOND + random.int(3 * SECOND) }
}

/** Returns the time of an event, in microseconds of the recording. */
export const inRecording = (time: string | null): number | null =>
  time === null ? null : Date.parse(time) * 1_000 - START_US

/** Plays a recording, whole or cut. `listedBefore`: a list comes before this event, too. */
export function playCut(tape: Tape, cut?: Cut, listedBefore?: number): CallEvent[] {
  const played = player()
  const feed = (signals: Parameters<typeof played.play>[0]): void => played.play(signals)
  const connected = (first: boolean, atUs: number): void =>
    feed([{ kind: 'connected', first, boot: 'one', atUs, arrivedUs: atUs }])
  let connection = tape.connect()
  let lists: number[] = []
  connected(true, START_US)
  feed(connection.snapshot(0, START_US))
  let step = 0
  const listUntil = (untilUs: number): void => {
    for (const atUs of lists.filter((one) => one <= untilUs)) feed(connection.snapshot(step, START_US + atUs))
    lists = lists.filter((one) => one > untilUs)
  }
  const lose = ({ fromUs, untilUs, answerUs = 0 }: Cut): void => {
    feed([{ kind: 'disconnected', atUs: START_US + fromUs, arrivedUs: START_US + fromUs }])
    while (step < tape.steps && tape.atUs(step) < untilUs) step += 1
    played.tickUntil(START_US + untilUs)
    connection = tape.connect()
    connected(false, START_US + untilUs)
    let answered = step
    while (answered < tape.steps && tape.atUs(answered) < untilUs + answerUs) answered += 1
    feed(connection.snapshot(step, START_US + untilUs, answered))
    lists = [untilUs + RELIST_US]
  }
  let isLost = false
  for (; step < tape.steps; step += 1) {
    if (!isLost && cut !== undefined && tape.atUs(step) >= cut.fromUs) {
      isLost = true
      lose(cut)
      listUntil(cut.untilUs)
      if (step >= tape.steps) break
    }
    const atUs = tape.atUs(step)
    listUntil(atUs)
    if (step === listedBefore) feed(connection.snapshot(step, START_US + tape.atUs(Math.max(0, step - 1))))
    feed(connection.signals(step, START_US + atUs))
  }
  listUntil(Number.POSITIVE_INFINITY)
  played.rest(30 * SECOND)
  return [...played.events]
}
