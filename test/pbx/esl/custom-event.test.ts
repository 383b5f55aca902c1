import { describe, expect, test } from 'bun:test'
import { channelOf, readCustomEvent } from '../../../src/pbx/esl/custom-event.ts'
import { eventFromJson, eventFromPlain } from '../../../src/pbx/esl/event.ts'

const HEADERS: readonly (readonly [string, string])[] = [
  ['Event-Subclass', 'my::survey'],
  ['Event-Name', 'CUSTOM'],
  ['Core-UUID', 'c0'],
  ['FreeSWITCH-Hostname', 'pbx'],
  ['Event-Date-Timestamp', '1795'],
  ['Unique-ID', 'leg-1'],
  ['Caller-Caller-ID-Name', 'Bob'],
  ['variable_secret', 'x'],
  ['digit', '5'],
  ['note', 'a "quoted" \\ text, of Zoë'],
]
const json = (headers = HEADERS) =>
  eventFromJson(
    Buffer.from(`{${headers.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`),
  )
const plain = () =>
  eventFromPlain(Buffer.from(HEADERS.map(([key, value]) => `${key}: ${encodeURIComponent(value)}\n`).join('')))

describe('a CUSTOM event of a dialplan', () => {
  test.each(['json', 'plain'])('has its own fields only, and its channel (%s)', (form) => {
    const event = form === 'json' ? json() : plain()
    if (event === undefined) throw new Error('no event')
    expect(readCustomEvent(event)).toEqual({
      name: 'my::survey',
      fields: { digit: '5', note: 'a "quoted" \\ text, of Zoë' },
    })
    expect(channelOf(event)).toBe('leg-1')
  })
  test('of no channel has none; of one that a caller added to the real one none is trusted', () => {
    const without = json(HEADERS.filter(([key]) => key !== 'Unique-ID'))
    expect(without && channelOf(without)).toBeNull()
    const twice = json([['Unique-ID', 'leg-9'], ...HEADERS])
    expect(twice && channelOf(twice)).toBeUndefined()
  })
})
