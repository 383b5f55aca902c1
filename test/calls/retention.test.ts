import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startCallRetention } from '../../src/calls/retention.ts'
import { storeHappened } from '../../src/calls/store.ts'
import { openDatabase } from '../../src/db/database.ts'
import { calls } from '../../src/db/schema.ts'
import { createLog } from '../../src/lib/log.ts'
import { emptyFolder } from '../help/app.ts'
import { until } from '../help/receiver.ts'

const DAY_US = 86_400_000_000

test('call records are kept as long as they are to be, and taken out in steps', async () => {
  using folder = emptyFolder()
  const db = openDatabase(join(folder.path, 'hookswitch.db'))
  const saved = Array.from({ length: 600 }, (_, day) => ({
    id: `call-${day}`,
    savedUs: day * DAY_US,
    direction: 'inbound' as const,
    fromNumber: null,
    toNumber: null,
    record: '{}',
  }))
  await db.commit(storeHappened, { pbx: 'p', accountId: 1, events: [], live: [], removed: [], saved, nowUs: 0 })
  const options = { db, log: createLog('silent'), keepMs: 10 * 86_400_000, nowUs: () => 600 * DAY_US }
  const retention = startCallRetention(options)
  const left = () =>
    db.read
      .select()
      .from(calls)
      .all()
      .map(({ id }) => id)
  await until('what is old is gone', () => left().length === 10)
  await retention.stop()
  expect(left().toSorted()).toEqual(saved.slice(-10).map(({ id }) => id))
  await db.stop()
})
