import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Signal } from '../../../src/calls/signal.ts'
import type { CallEvent } from '../../../src/events/bodies.ts'
import { wordsOf } from '../../help/emitted-words.ts'
import { type PlayerOptions, player } from '../../help/play.ts'
import { RECORDINGS, signalsOf } from '../../help/recorded-signals.ts'
import { FIXTURES } from '../../help/recording.ts'

test('only rules/arrange.ts writes the group or queue of a stage, and makes groups', () => {
  const tracker = join(import.meta.dir, '../../../src/calls/tracker')
  const files = readdirSync(tracker, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const filesWith = (pattern: RegExp) => files.filter((file) => pattern.test(readFileSync(join(tracker, file), 'utf8')))
  expect(filesWith(/(?<!\bcall)\.parentId (\?\?|\|\|)?= /)).toEqual(['rules/arrange.ts'])
  expect(filesWith(/addStage\([^;]*?kind: 'group'/)).toEqual(['rules/arrange.ts'])
})

function eventsOf(signals: readonly Signal[], onTracked: PlayerOptions['onTracked'] = () => {}): readonly CallEvent[] {
  const played = player({ onTracked })
  played.play(signals)
  played.rest(10_000_000)
  return played.events
}

test.each(RECORDINGS)('%s: groups that are derived after every signal are the same', (name) => {
  const signals = signalsOf(name)
  const always = eventsOf(signals, (_, __, state) => {
    for (const id of state.calls.keys()) state.unplaced.add(id)
  })
  expect(wordsOf(always)).toEqual(wordsOf(eventsOf(signals)))
})

test('a group in a group, as version 0.2.0 stored it while its phones rang, ends with the same groups', () => {
  const signals = signalsOf('asterisk/nested-group-inner-answers')
  const cut = 26
  const played = player()
  played.restart(new Map([['call', readFileSync(join(FIXTURES, 'live-call-0.2.0.json'), 'utf8')]]))
  played.play(signals.slice(cut))
  played.rest(10_000_000)
  const membersOf = (events: readonly CallEvent[]): string[] =>
    events.flatMap(({ body: { data } }) => {
      if (data.name !== 'call_saved') return []
      const targetOf = new Map(data.stages.map(({ id, target }) => [id, target]))
      return data.stages.map((one) => `${one.kind} ${one.target} in ${targetOf.get(one.parent_id ?? '')} ${one.result}`)
    })
  expect(membersOf(played.events).toSorted()).toEqual(membersOf(eventsOf(signals)).toSorted())
  expect(membersOf(played.events)).toContainEqual(expect.stringMatching(/^group .* in \d+ /))
})
