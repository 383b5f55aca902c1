import { expect, test } from 'bun:test'
import type { CallEvent } from '../src/events/bodies.ts'
import { wordsOf } from './help/emitted-words.ts'
import { freeswitchEvents } from './help/freeswitch-recording.ts'

const events = freeswitchEvents(['attended-transfer'])

/** Returns the paths of all values in an object or list. */
const pathsIn = (value: unknown, path: readonly string[] = []): (readonly string[])[] =>
  typeof value !== 'object' || value === null
    ? [path]
    : Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]))

function otherValue(value: unknown): unknown {
  if (typeof value === 'number') return value + 1
  if (typeof value === 'boolean') return !value
  return value === null ? 'known' : `${String(value)}1`
}

function withOther(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return otherValue(value)
  const copy: unknown = Array.isArray(value) ? [...value] : { ...Object(value) }
  Reflect.set(Object(copy), key, withOther(Reflect.get(Object(value), key), rest))
  return copy
}

const wordsWith = (at: number, path: readonly string[]): string[] =>
  wordsOf(events.map((event, index) => (index === at ? (withOther(event, ['body', ...path]) as CallEvent) : event)))

test('another value anywhere in a body, but for the id of the event, gives other words', () => {
  const words = wordsOf(events)
  const missing = events.flatMap(({ body }, at) =>
    pathsIn(body).filter((path) => path.join('.') !== 'data.id' && Bun.deepEquals(wordsWith(at, path), words)),
  )
  expect(events.length).toBeGreaterThan(10)
  expect(missing).toEqual([])
})

test('the same events with other ids, counted from elsewhere, give the same words', () => {
  const text = JSON.stringify(events)
  const renamed = text.replace(
    /\b(\d{13})-(\d{6})\b/g,
    (_, ms, count) => `${ms}-${String(Number(count) + 7).padStart(6, '0')}`,
  )
  expect(renamed).not.toBe(text)
  expect(wordsOf(JSON.parse(renamed) as CallEvent[])).toEqual(wordsOf(events))
})

test('other orders of emission and of stages give other words', () => {
  const words = wordsOf(events)
  expect(wordsOf([...events.slice(1), ...events.slice(0, 1)])).not.toEqual(words)
  const reversed = events.map((event): CallEvent => {
    const { data } = event.body
    if (data.name !== 'call_saved' || data.stages.length < 2) return event
    return { ...event, body: { time: event.body.time, data: { ...data, stages: data.stages.toReversed() } } }
  })
  expect(wordsOf(reversed)).not.toEqual(words)
})
