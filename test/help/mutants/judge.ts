import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { asteriskEvents } from '../asterisk-recording.ts'
import { brokenRules } from '../call-rules/rules.ts'
import { CONTINUES } from '../continues.ts'
import { differences } from '../expected-compare.ts'
import { freeswitchEvents } from '../freeswitch-recording.ts'
import { FIXTURES, readExpectedFile } from '../recording.ts'
import { SWITCH } from './switch.ts'

// bun --preload=switch.ts judge.ts BASE ID…: plays all recordings with each of these mutants, and prints for each, as a
// line of JSON, whether it is reached, changes a body, and is noticed by the recordings' `.expected` or by the rules for
// every list of events. Without ids it writes into BASE what the recordings give without a mutant.

export type Judged = {
  readonly id: number
  readonly verdict: 'not reached' | 'same' | 'changed' | 'noticed'
  /** The recording or the error that notices it. */
  readonly by: string
}

/** What a recording gives without a mutant. */
type Base = { readonly bodies: string; readonly wrong: string; readonly reached: readonly number[] }

const names = (['asterisk', 'freeswitch'] as const).flatMap((pbx) =>
  readdirSync(join(FIXTURES, pbx))
    .filter((file) => file.endsWith('.expected'))
    .map((file) => `${pbx}/${file.replace('.expected', '')}`),
)

function bodiesOf(recording: string): CallEvent['body'][] {
  const [pbx, name = ''] = recording.split('/')
  const second = CONTINUES[name]
  const files = second === undefined ? [name] : [name, second]
  return (pbx === 'asterisk' ? asteriskEvents(files) : freeswitchEvents(files)).map(({ body }) => body)
}

/** Returns what the tests would say of the bodies of a recording. */
const wrongOf = (recording: string, bodies: readonly CallEvent['body'][]): string =>
  JSON.stringify([differences(bodies, readExpectedFile(recording), { all: true }), brokenRules(bodies)])

function baseOf(recording: string): Base {
  SWITCH.reached = new Set()
  const bodies = bodiesOf(recording)
  return { bodies: JSON.stringify(bodies), wrong: wrongOf(recording, bodies), reached: [...SWITCH.reached] }
}

function judge(id: number, base: ReadonlyMap<string, Base>): Judged {
  // What is evaluated when a module is loaded is not reached again, and may change every recording.
  const isLoaded = Number(process.env.MUTANT ?? 0) === id
  const reaching = [...base].filter(([, { reached }]) => isLoaded || reached.includes(id))
  if (reaching.length === 0) return { id, verdict: 'not reached', by: '' }
  SWITCH.active = id
  let verdict: Judged['verdict'] = 'same'
  try {
    for (const [name, { bodies: before, wrong }] of reaching) {
      const bodies = bodiesOf(name)
      if (JSON.stringify(bodies) === before) continue
      verdict = 'changed'
      if (wrongOf(name, bodies) !== wrong) return { id, verdict: 'noticed', by: name }
    }
    return { id, verdict, by: '' }
  } catch (error) {
    return { id, verdict: 'noticed', by: String(error).slice(0, 80) }
  } finally {
    SWITCH.active = 0
  }
}

const [file = '', ...ids] = process.argv.slice(2)
if (ids.length === 0) writeFileSync(file, JSON.stringify(names.map((name) => [name, baseOf(name)])))
else {
  const base = new Map<string, Base>(JSON.parse(readFileSync(file, 'utf8')))
  for (const id of ids.map(Number)) console.log(JSON.stringify(judge(id, base)))
}
