import type { CallEvent } from '../../src/events/bodies.ts'
import { SECOND } from '../../src/lib/time.ts'
import type { Tape } from './dropped.ts'
import { player } from './play.ts'

const START_US = 1_795_213_000_000_000

/** Plays a recording over one connection, which begins with a list; with another list before one of its events. */
export function listedAgain(tape: Tape, before?: number): readonly CallEvent[] {
  const played = player()
  const connection = tape.connect()
  played.play([{ kind: 'connected', first: true, boot: 'one', atUs: START_US, arrivedUs: START_US }])
  played.play(connection.snapshot(0, START_US))
  for (let step = 0; step < tape.steps; step += 1) {
    if (step === before) played.play(connection.snapshot(step, START_US + tape.atUs(Math.max(0, step - 1))))
    played.play(connection.signals(step, START_US + tape.atUs(step)))
  }
  played.rest(10 * SECOND)
  return played.events
}
