import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startCallRetention } from '../../../src/calls/ingest/call-retention.ts'
import { createLog } from '../../../src/lib/log.ts'
import { emptyFolder } from '../../help/app.ts'
import { until } from '../../help/receiver.ts'
import { batch, openStore } from '../../help/store.ts'

const DAY_US = 86_400_000_000

test('call records are kept for their retention, and deleted in steps', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const saved = Array.from({ length: 600 }, (_, day) => ({
    id: `call-${day}`,
    savedUs: day * DAY_US,
    direction: 'inbound' as const,
    fromNumber: null,
    toNumber: null,
    record: '{}',
  }))
  await store.calls.batchStore(batch({ saved }))
  const { db, maintenance } = store
  const options = { maintenance, log: createLog('silent'), keepMs: 10 * 86_400_000, nowUs: () => 600 * DAY_US }
  const retention = startCallRetention(options)
  const left = () =>
    db.read
      .query<{ id: string }, []>('SELECT id FROM calls')
      .all()
      .map(({ id }) => id)
  await until('what is old is gone', () => left().length === 10)
  await retention.stop()
  expect(left().toSorted()).toEqual(saved.slice(-10).map(({ id }) => id))
  await store.stop()
})
