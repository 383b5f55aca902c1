import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Signal } from '../../src/calls/signal.ts'
import { asRecorded, asteriskEvents } from './asterisk-recording.ts'
import { CONTINUES } from './continues.ts'
import { freeswitchEvents } from './freeswitch-recording.ts'
import type { PlayerOptions } from './play.ts'
import { FIXTURES } from './recording.ts'

/** The names of all recordings of the project (`asterisk/queue`), those of a second connection with the first one. */
export const RECORDINGS: readonly string[] = (['asterisk', 'freeswitch'] as const).flatMap((pbx) => {
  const second = new Set(Object.values(CONTINUES))
  return readdirSync(join(FIXTURES, pbx))
    .filter((file) => /\.(ami|esl)$/.test(file))
    .map((file) => file.replace(/\.\w+$/, ''))
    .filter((name) => !second.has(name))
    .map((name) => `${pbx}/${name}`)
})

/** Returns the signals that the tracker gets when a recording is played, without ticks. */
export function signalsOf(recording: string): readonly Signal[] {
  const signals: Signal[] = []
  const onTracked: PlayerOptions['onTracked'] = (_, signal) => {
    if (signal.kind !== 'tick') signals.push(signal)
  }
  const [pbx, name = ''] = recording.split('/')
  const next = CONTINUES[name]
  const names = next === undefined ? [name] : [name, next]
  if (pbx === 'asterisk') asteriskEvents(names, asRecorded, { onTracked })
  else freeswitchEvents(names, { onTracked })
  return signals
}
