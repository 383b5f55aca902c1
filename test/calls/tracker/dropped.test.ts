import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { type Tape, tapeOf } from '../../help/dropped.ts'
import { differences } from '../../help/expected-compare.ts'
import { unknown } from '../../help/known-differences.ts'
import { createLedger, leftover } from '../../help/ledger.ts'
import { type LiveCalls, player, saveChanges } from '../../help/play.ts'
import { readExpectedFile } from '../../help/recording.ts'

// The connection is lost after each event of a recording in turn. Events are missed until it is back; then the PBX is
// asked for its channels.

const START_US = 1_795_213_000_000_000
const RELIST_US = 2_000_000

type Loss = { after: number; missing: number; restart: boolean }

function play(tape: Tape, loss: Loss): CallEvent[] {
  const ledger = createLedger(DROPPED)
  const played = player({ onTracked: ({ events }) => ledger.take(events) })
  const { play, tickUntil: wait } = played
  const connected = (first: boolean, atUs: number): void =>
    play([{ kind: 'connected', first, boot: 'one', atUs, arrivedUs: atUs }])

  let connection = tape.connect()
  let relistUs = START_US + RELIST_US
  let step = 0
  const playTo = (end: number): void => {
    for (; step < end; step++) {
      const atUs = START_US + tape.atUs(step)
      if (atUs >= relistUs) {
        play(connection.snapshot(step, relistUs))
        relistUs = Number.POSITIVE_INFINITY
      }
      play(connection.signals(step, atUs))
    }
  }
  connected(true, START_US)
  play(connection.snapshot(0, START_US))
  playTo(Math.min(loss.after, tape.steps))
  const lostUs = Math.max(played.nowUs, START_US + tape.atUs(Math.max(0, step - 1)))
  play([{ kind: 'disconnected', atUs: lostUs, arrivedUs: lostUs }])
  step = Math.min(tape.steps, step + loss.missing)
  const backUs = Math.max(lostUs, START_US + tape.atUs(Math.max(0, step - 1)))
  wait(backUs)
  if (loss.restart) {
    const stored: LiveCalls = new Map()
    saveChanges(played.state, stored)
    played.restart(stored)
  }
  connection = tape.connect()
  connected(loss.restart, backUs)
  play(connection.snapshot(step, backUs))
  relistUs = backUs + RELIST_US
  playTo(tape.steps)
  const endUs = Math.max(played.nowUs, START_US + tape.atUs(tape.steps - 1))
  if (relistUs !== Number.POSITIVE_INFINITY) {
    wait(Math.max(relistUs, endUs))
    play(connection.snapshot(step, Math.max(relistUs, endUs)))
  }
  const overUs = played.nowUs + 10_000_000
  play([{ kind: 'tick', atUs: overUs, arrivedUs: overUs }])
  ledger.finish()
  expect(leftover(played.state)).toBeUndefined()
  return played.events
}

/** What the tracker is known to get wrong: that an unseen answer makes a call `partial` at once. */
const DROPPED = ['a stage stays in its group', 'state of a call', 'result and answer of a call']

const NAMES = [
  'h-ring-group.ami',
  'i-queue.ami',
  'l2-attended-transfer-refer.ami',
  'attended-transfer.esl',
  'queue.esl',
] as const

const fixtureOf = (name: string): string =>
  `${name.endsWith('.ami') ? 'asterisk' : 'freeswitch'}/${name.replace(/\.\w+$/, '')}`

test.each(NAMES)('%s: nothing is missed between two events, and no event differs', (name) => {
  const tape = tapeOf(name)
  for (let after = 0; after <= tape.steps; after++) {
    const bodies = play(tape, { after, missing: 0, restart: false }).map(({ body }) => body)
    const wrong = differences(bodies, readExpectedFile(fixtureOf(name)), { all: true })
    expect(`after ${after}: ${unknown(fixtureOf(name), wrong).join('\n')}`).toBe(`after ${after}: `)
  }
})

test.each(NAMES)('%s: the promises hold whatever was missed, and `partial` says so', (name) => {
  const tape = tapeOf(name)
  const seen = shownBy(tape)
  for (const restart of [false, true])
    for (const missing of [0, 1, 5, 40])
      for (let after = 0; after <= tape.steps; after++) {
        const events = play(tape, { after, missing, restart })
        const missed = seen.slice(after, after + missing)
        for (const { name: what, body } of events) {
          if (what !== 'call_ended' || !missed.some((one) => one.includes(body.data.call.pbx_id))) continue
          expect(`${after}+${missing}: partial ${body.data.call.partial}`).toBe(`${after}+${missing}: partial true`)
        }
      }
})

/**
 * Returns for each step the calls (the PBX's ids) whose beginning or answer it shows; answers only if the tape has a
 * single call.
 */
function shownBy(tape: Tape): string[][] {
  const connection = tape.connect()
  const all = Array.from({ length: tape.steps }, (_, step) => connection.signals(step, START_US + tape.atUs(step)))
  const roots = all.flat().flatMap((one) => (one.kind === 'channel' && one.linkedId === one.id ? one.id : []))
  const only = roots.length === 1 ? roots : []
  const real = new Set(
    all.flat().flatMap((one) => (one.kind === 'dial_begin' && one.endpoint.kind !== 'virtual' ? one.dest : [])),
  )
  // The end of a call is seen by any of its parties' ends.
  return all.map((signals) =>
    signals.flatMap((one) => {
      if (one.kind === 'channel' && one.linkedId === one.id) return one.id
      const isAnswer = one.kind === 'dial_end' && one.result === 'answered' && real.has(one.dest)
      return isAnswer ? only : []
    }),
  )
}
