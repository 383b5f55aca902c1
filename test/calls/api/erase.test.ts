import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENT_NAMES, type EventKind } from '../../../src/events/kinds.ts'
import { callListWithNumber } from '../../../src/store/operations/maintenance.ts'
import { emptyWriteAheadLog } from '../../../src/store/sqlite/engine/write-ahead-log.ts'
import { emptyFolder } from '../../help/app.ts'
import { seededRandom } from '../../help/seed.ts'
import { batch, openStore } from '../../help/store.ts'

const NUMBER = '15551230001'
const LONGER = '155512300011'

test('a number is erased where it is a whole value, and nothing else is', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const event = (callId: string, name: EventKind, sequence: number, data: object) => ({
    uuid: `${callId}-${sequence}`,
    callId,
    name,
    sequence,
    atUs: 0,
    body: JSON.stringify({ data: { name, ...data } }),
  })
  const saved = (id: string, number: string) => ({
    id,
    savedUs: 0,
    direction: 'inbound' as const,
    fromNumber: number,
    toNumber: null,
    record: JSON.stringify({ call: { from: { number } } }),
  })
  const party = { number: NUMBER, name: null }
  const events = [
    event('one', 'call_attended_transferred', 1, { transfer: { transferee: party, other_call_id: 'merged' } }),
    event('one', 'call_saved', 2, { call: { from: party } }),
    event('merged', 'call_started', 1, { call: { to: party } }),
    event('other', 'call_saved', 1, { call: { from: { number: LONGER } } }),
  ]
  const live = [
    { id: 'up', state: JSON.stringify({ call: { id: 'up', from: party, variables: { A: NUMBER, B: LONGER } } }) },
    { id: 'else', state: JSON.stringify({ call: { id: 'else', from: { number: LONGER } } }) },
  ]
  await store.calls.batchStore(batch({ events, saved: [saved('one', NUMBER), saved('other', LONGER)] }, { live }))
  const { maintenance } = store
  const ids = await callListWithNumber(maintenance, NUMBER)
  expect(ids.toSorted()).toEqual(['merged', 'one'])
  expect(await maintenance.callErase(ids)).toEqual({ calls: 1, events: 3, pending: 0 })
  expect(await maintenance.callErase(ids)).toEqual({ calls: 0, events: 0, pending: 0 })
  expect(await maintenance.liveCallErase(NUMBER)).toBe(1)
  expect(await callListWithNumber(maintenance, NUMBER)).toEqual([])
  expect(await callListWithNumber(maintenance, LONGER)).toEqual(['other'])
  const left = (await store.calls.liveCallList('office')).map(({ state }) => JSON.parse(state))
  expect(left.map(({ call }) => call)).toEqual([
    { id: 'else', from: { number: LONGER } },
    { id: 'up', from: { number: null, name: null }, variables: { A: '', B: LONGER } },
  ])
  // The id of the call that it was merged into stays: otherwise the merged call would seem to have no end.
  expect(await maintenance.verify()).toEqual([])
  await store.stop()
})

test('an erased number is in no byte of the store, although rows with it came, grew and went before', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const store = openStore(path)
  const random = seededRandom(5)
  const text = (mine: boolean) =>
    JSON.stringify({ from: { number: mine ? NUMBER : LONGER.replace('1', '2') }, pad: 'x'.repeat(random.int(3_000)) })
  // It is the last: until then the call is live.
  const names = [...EVENT_NAMES.filter((name) => name !== 'call_saved'), 'call_saved'] as const
  const steps = (id: string, mine: boolean) =>
    names.map((name, index) => ({
      events: [{ uuid: `${id}-${index}`, callId: id, name, sequence: index + 1, atUs: 0, body: text(mine) }],
      live: name === 'call_saved' ? [] : [{ id, state: text(mine) }],
      removed: name === 'call_saved' ? [id] : [],
      saved:
        name === 'call_saved'
          ? [
              {
                id,
                savedUs: 0,
                direction: 'inbound' as const,
                fromNumber: mine ? NUMBER : null,
                toNumber: null,
                record: text(mine),
              },
            ]
          : [],
    }))
  // Twenty calls at a time; each step is a separate commit.
  const waiting = Array.from({ length: 100 }, (_, index) => steps(`call-${index}`, index % 4 === 0))
  while (waiting.length > 0) {
    const at = random.int(Math.min(20, waiting.length))
    const step = waiting[at]?.shift()
    if (step === undefined) waiting.splice(at, 1)
    else await store.calls.batchStore(batch({ events: step.events, saved: step.saved }, step))
  }
  const holds = () => ['', '-wal'].filter((end) => readFileSync(path + end).includes(NUMBER))
  expect(emptyWriteAheadLog(path)).toBe(true)
  expect(holds()).toEqual([''])
  await store.maintenance.callErase(await callListWithNumber(store.maintenance, NUMBER))
  expect(emptyWriteAheadLog(path)).toBe(true)
  expect(holds()).toEqual([])
  await store.stop()
})
