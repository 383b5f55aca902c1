import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startIngest } from '../../src/calls/ingest.ts'
import { openClock } from '../../src/deliveries/clock.ts'
import { createLog } from '../../src/lib/log.ts'
import { startWatch } from '../../src/pbx/watch.ts'
import type { StoredEvent } from '../../src/store/records.ts'
import { emptyFolder } from '../help/app.ts'
import { until } from '../help/receiver.ts'
import { openStore } from '../help/store.ts'

const log = createLog('silent')

test('calls that a PBX left open which is watched no more are ended', async () => {
  using folder = emptyFolder()
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const stored: StoredEvent[] = []
  const onStored = (more: readonly StoredEvent[]) => void stored.push(...more)
  const clock = await openClock({ maintenance: store.maintenance, log })
  const own = { calls: store.calls, clock, pbx: 'old', account: 'default', accountId: 1 }
  const options = { ...own, onStored, onMissed() {}, onFault() {}, log }
  const before = await startIngest(options)
  const endpoint = { kind: 'external', number: '15551230001', name: null } as const
  const channel = { linkedId: 'a', endpoint, dialled: '200', originated: false, shown: null } as const
  before.feed([{ kind: 'channel', id: 'a', ...channel, atUs: Date.now() * 1_000, arrivedUs: 0 }])
  await until('the call is told', () => stored.length === 1)
  await before.stop()
  const watch = await startWatch({ store, clock, pbxs: [], accounts: new Map([['default', 1]]), onStored, log })
  await until('it is over', () => stored.length === 3)
  await watch.stop()
  const bodies = stored.map(({ body }) => JSON.parse(body).data)
  expect(bodies.map((data) => [data.name, data.sequence, data.pbx])).toEqual([
    ['call_started', 1, 'old'],
    ['call_ended', 2, 'old'],
    ['call_saved', 3, 'old'],
  ])
  expect(bodies[1].call).toMatchObject({ partial: true, hangup: { cause: 'unknown', by: 'unknown' } })
  expect(await store.calls.liveCallList('old')).toEqual([])
  await store.stop()
})
