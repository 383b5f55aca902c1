import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Signal } from '../../../src/calls/signal.ts'
import { rfc3339 } from '../../../src/lib/time.ts'
import { player } from '../../help/play.ts'
import type { Random } from '../../help/random.ts'
import { RECORDINGS, signalsOf } from '../../help/recorded-signals.ts'
import { scenario } from '../../help/scenarios.ts'
import { playCase, seedsOf } from '../../help/seed.ts'

const SEEDS = seedsOf(20_261_128, 2)
const SCENARIOS = seedsOf(20_261_129, 300)
const START_US = 1_795_213_000_000_000

const TRACKER = join(import.meta.dir, '../../../src/calls/tracker')
const sources = readdirSync(TRACKER, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(join(TRACKER, file), 'utf8') }))

test('only state/waits.ts compares with the present', () => {
  const compared = /\bnowUs *(?:[<>-]|[!=]==)|(?:[<>-]|[<>!=]==?) *(?:state\.)?nowUs\b/
  const offenders = sources.filter(({ text }) => compared.test(text))
  expect(offenders.map(({ file }) => file)).toEqual(['state/waits.ts'])
})

test('the README of calls names every duration of the tracker, and the waits with their times', () => {
  const readme = readFileSync(join(TRACKER, '../README.md'), 'utf8')
  const rows = new Map(
    [...readme.matchAll(/^\| `(\w+_US)` +\| (\d+) (ms|s) /gm)].map(([, name, count, unit]) => [
      name,
      Number(count) * (unit === 's' ? 1_000_000 : 1_000),
    ]),
  )
  const constants = sources.flatMap(({ text }) =>
    [...text.matchAll(/^(?:export )?const (\w+_US) = ([\d_]+)$/gm)].map(([, name = '', us = '']) => {
      return { name, us: Number(us.replaceAll('_', '')) }
    }),
  )
  expect(constants.filter(({ name }) => !readme.includes(`\`${name}\``))).toEqual([])
  expect(constants.filter(({ name, us }) => (rows.get(name) ?? us) !== us)).toEqual([])
  expect([...rows.keys()].filter((name) => !constants.some((one) => one.name === name))).toEqual([])
  expect(rows.size).toBeGreaterThan(15)
})

/** Plays signals, and looks at every call also when nothing asks for it; returns what that emitted too early. */
function emittedUnasked(signals: readonly Signal[], random: Random): string[] {
  const played = player()
  const unasked: string[] = []
  const look = (atUs: number, why: string): void => {
    const before = played.events.length
    for (const id of played.state.calls.keys()) played.state.dirty.add(id)
    played.feed({ kind: 'tick', atUs, arrivedUs: atUs })
    for (const { name, callId } of played.events.slice(before)) unasked.push(`${name} of ${callId} ${why}`)
  }
  for (const signal of signals) {
    const { nowUs } = played
    const betweenUs = nowUs + random.int(Math.max(signal.arrivedUs - nowUs, 1))
    played.tickUntil(betweenUs)
    if (nowUs > 0) look(betweenUs, `${betweenUs} before ${signal.kind}`)
    played.tickUntil(signal.arrivedUs)
    played.feed(signal)
    look(signal.arrivedUs, `after ${signal.kind}`)
  }
  return unasked
}

test.each(RECORDINGS)('%s: a call that nothing wakes has nothing to emit', (name) => {
  const signals = signalsOf(name)
  for (const seed of SEEDS) playCase(seed, (random) => expect(emittedUnasked(signals, random)).toEqual([]))
})

test(`so in ${SCENARIOS.length} made-up scenarios`, () => {
  for (const seed of SCENARIOS)
    playCase(seed, (random) => {
      expect(emittedUnasked(scenario(random, 0, START_US).signals, random)).toEqual([])
    })
})

test('the end of a party that asked in a consultation waits for it, and comes with its end', () => {
  const recorded = signalsOf('asterisk/x-atx-target-302-no-media')
  const before = recorded.slice(
    0,
    recorded.findIndex(({ kind }) => kind === 'attended_transfer'),
  )
  const [asking, asked] = ['1795295418.1987', /^1795295422\./]
  const channels = new Set(before.flatMap((one) => ('id' in one && asked.test(one.id) ? one.id : [])))
  const atUs = (before.at(-1)?.arrivedUs ?? 0) + 1_000_000
  const hangup = (id: string, us: number, mayTransfer: boolean): Signal => {
    const end = { code: 16, result: 'no_answer', withdrawn: true, mayTransfer, forwardedTo: null } as const
    return { kind: 'hangup', id, end, atUs: us, arrivedUs: us }
  }
  const signals = [
    ...before,
    hangup(asking, atUs, true),
    ...[...channels].map((id) => hangup(id, atUs + 2_000_000, false)),
  ]
  const played = player()
  played.play(signals)
  const ended = played.events.findLast(({ name, body }) => name === 'dial_ended' && body.data.call.parent_id === null)
  expect(ended?.body.data).toMatchObject({ stage: { target: '101', ended_at: rfc3339(atUs) } })
})
