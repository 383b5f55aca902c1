import { expect, test } from 'bun:test'
import type { CallEvent } from '../../../src/calls/event.ts'
import { blockedCalls } from '../../../src/calls/ingest/blocked-calls.ts'
import { EXAMPLES } from '../../../src/openapi/examples.ts'

const [example] = EXAMPLES
if (example === undefined) throw new Error('there is no example')

type Named = { from?: string[]; into?: string; other?: string }

/** An event of a call that names others. */
function event(id: string, { from = [], into, other }: Named = {}): CallEvent {
  const { data } = example ?? {}
  const call = { ...data?.call, id, merged_from: from, merged_into: into ?? null }
  const transfer = other === undefined ? {} : { transfer: { other_call_id: other } }
  return { callId: id, body: { data: { ...data, call, ...transfer } } } as unknown as CallEvent
}

const CASES: readonly [string, string[], CallEvent[], Record<string, string[]>, string[]][] = [
  ['a call that waits is blocked', ['a'], [event('a'), event('b')], {}, ['a']],
  ['nothing is blocked without one', [], [event('a', { into: 'b' })], {}, []],
  ['a call that goes on in one that waits is blocked', ['b'], [event('a', { into: 'b' })], {}, ['a', 'b']],
  ['a call whose transfer names one that waits', ['b'], [event('a', { other: 'b', from: ['b'] })], {}, ['a', 'b']],
  ['one that was merged into it before', ['a'], [], { a: ['c'] }, ['a', 'c']],
  [
    'a chain of them',
    ['d'],
    [event('a', { from: ['b'] }), event('b', { into: 'c' }), event('c', { other: 'd' }), event('e')],
    {},
    ['a', 'b', 'c', 'd'],
  ],
]

for (const [name, waiting, events, merged, expected] of CASES)
  test(name, () => {
    const found = blockedCalls(new Set(waiting), events, (id) => merged[id] ?? [])
    expect([...found].toSorted()).toEqual(expected)
  })
