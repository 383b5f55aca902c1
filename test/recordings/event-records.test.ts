import { expect, test } from 'bun:test'
import { callBatch, newEvent } from '../../src/calls/api/event-records.ts'
import { EXAMPLES } from '../../src/events/samples.ts'

const urlOf = () => 'https://calls.example/x'
const events = EXAMPLES.map((body) => ({
  id: body.data.id,
  name: body.data.name,
  callId: body.data.call.id,
  sequence: body.data.sequence,
  atUs: 1,
  body,
}))

test.each(events)(
  '$name is stored byte for byte as it was emitted where the files of the PBX cannot be read',
  (event) => {
    expect(newEvent(event).body).toBe(JSON.stringify(event.body))
  },
)

test.each(events)('$name has a link to each recording where they can, and to nothing else', (event) => {
  const { data } = JSON.parse(newEvent(event, urlOf).body)
  const withoutLinks = JSON.parse(JSON.stringify(data, (key, value) => (key === 'url' ? undefined : value)))
  expect(withoutLinks).toEqual(
    JSON.parse(JSON.stringify(event.body.data, (key, value) => (key === 'url' ? undefined : value))),
  )
  if (data.name === 'call_saved') expect(data.recordings.map(({ url }: { url: string }) => url)).toEqual([urlOf()])
})

/** Returns the batch in which an event is stored. */
const batchOf = (event: (typeof events)[number]) =>
  callBatch(
    [event],
    { changed: [], removed: [], merged: [], withoutAccount: [] },
    { pbx: 'office', accountIdOf: () => 7, urlOf, nowUs: 1, nowSteadyUs: 1 },
  )

test('the record of a call is kept without links, and its recordings with known paths are awaited', () => {
  const saved = events.find(({ name }) => name === 'call_saved')
  if (saved === undefined) throw new Error('there is no example')
  const { parts, recordings: awaited } = batchOf(saved)
  const { recordings } = JSON.parse(parts[0]?.saved[0]?.record ?? '')
  expect(recordings).toHaveLength(1)
  expect(recordings[0]).not.toHaveProperty('url')
  expect(awaited).toMatchObject([{ accountId: 7, state: 'pending', sequence: saved.sequence, pbx: 'office' }])
  expect(events.filter(({ name }) => name !== 'call_saved').flatMap((event) => batchOf(event).recordings)).toEqual([])
})
