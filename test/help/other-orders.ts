import { expect } from 'bun:test'
import type { CallEvent } from '../../src/events/bodies.ts'
import { OTHER_ORDERS } from './call-rules/exceptions.ts'
import { lineOf } from './expected.ts'
import { createLedger } from './ledger.ts'

// Compares the events that follow when a PBX sends the same facts in another order.

/** An event of a call: its line, which of the same lines of the call it is, and when it happened. */
export type Line = { readonly text: string; readonly atMs: number }

export function callsOf(events: readonly CallEvent[]): Line[][] {
  const calls = [...Map.groupBy(events, ({ callId }) => callId).values()].map((own) => {
    const counts = new Map<string, number>()
    return own.map(({ body }) => {
      // Who is rung together with others is rung in any order.
      const line = body.data.name === 'call_missed' ? lineOf(body).split(' ').toSorted().join(' ') : lineOf(body)
      const count = (counts.get(line) ?? 0) + 1
      counts.set(line, count)
      return { text: count === 1 ? line : `${line} (${count})`, atMs: Date.parse(body.time) }
    })
  })
  return calls.toSorted((a, b) => linesOf(a).localeCompare(linesOf(b)))
}

const linesOf = (call: readonly Line[]): string =>
  call
    .map(({ text }) => text)
    .toSorted()
    .join('\n')

/** Events of a call that are further apart than delays and settling can move them keep their order. */
const APART_MS = 400

/**
 * Returns the events that come in a wrong order, although one happened well before the other or a transfer explains it.
 */
function disorderOf(call: readonly Line[], original: readonly Line[]): string[] {
  const before = new Map(original.map((line, place) => [line.text, { place, atMs: line.atMs }]))
  return call.flatMap(({ text }, place) =>
    call.slice(place + 1).flatMap((later) => {
      const [one, other] = [before.get(text), before.get(later.text)]
      if (one === undefined || other === undefined || one.place < other.place) return []
      const isApart = one.atMs > other.atMs + APART_MS
      return isApart || later.text.includes('_transferred') ? [`${text} comes before ${later.text}`] : []
    }),
  )
}

/** Compares the events of another order with the original ones. */
export function expectSameCalls(events: readonly CallEvent[], original: readonly Line[][]): void {
  const ledger = createLedger(OTHER_ORDERS)
  ledger.take(events)
  ledger.finish()
  const calls = callsOf(events)
  expect(calls.map(linesOf).join('\n\n')).toBe(original.map(linesOf).join('\n\n'))
  expect(calls.flatMap((call, place) => disorderOf(call, original[place] ?? []))).toEqual([])
}
