import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { CONTINUES } from '../help/continues.ts'
import { differences } from '../help/expected-compare.ts'
import { freeswitchEvents } from '../help/freeswitch-recording.ts'
import { unknown } from '../help/known-differences.ts'
import { FIXTURES, readExpectedFile } from '../help/recording.ts'

const names = readdirSync(join(FIXTURES, 'freeswitch'))
  .filter((file) => file.endsWith('.expected'))
  .map((file) => file.replace('.expected', ''))

test.each(names)('%s gives its events', (name) => {
  const second = CONTINUES[name]
  const events = freeswitchEvents(second === undefined ? [name] : [name, second])
  const bodies = events.map(({ body }) => body)
  const wrong = differences(bodies, readExpectedFile(`freeswitch/${name}`), { all: true })
  expect(unknown(`freeswitch/${name}`, wrong).join('\n')).toBe('')
})

test('a consultation that began unseen is made for the call that the same extension has put on hold', () => {
  const [first, asked] = freeswitchEvents(['gap-consultation-begins', 'gap-consultation-begins-2']).flatMap(
    ({ body: { data } }) => (data.name === 'call_started' ? [data.call] : []),
  )
  expect(first?.parent_id).toBeNull()
  expect(asked).toMatchObject({ parent_id: first?.id, from: { extension: '1001' }, to: { extension: '1003' } })
})

test.each([
  ['group-desk-and-mobile', 'the creation of an outside member is read later', ['1101', '79037771899']],
  ['group-delayed-member', 'the second phone is dialled two seconds after the first rings', ['1101', '1102']],
])('%s: a group exists from its first dial, although %s', (name, _, members) => {
  const stages = freeswitchEvents([name]).flatMap(({ body: { data } }) =>
    data.name === 'dial_started' || data.name === 'dial_ended' ? [data.stage] : [],
  )
  const group = stages.find(({ kind }) => kind === 'group')
  const told = stages
    .filter(({ kind }) => kind !== 'group')
    .map(({ target, parent_id: parent }) => ({ target, parent }))
  const expected = members.flatMap((target) => [1, 2].map(() => ({ target, parent: group?.id ?? 'none' })))
  expect(told.toSorted((a, b) => String(a.target).localeCompare(String(b.target)))).toEqual(expected)
})

test('click to call into a queue: the called party stays the number that was dialled', () => {
  const called = freeswitchEvents(['click-to-call-queue']).map(({ body: { data } }) => data.call.to.number)
  expect(new Set(called)).toEqual(new Set(['1310']))
})
