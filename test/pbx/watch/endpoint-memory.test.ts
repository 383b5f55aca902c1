import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../../src/cluster/ownership.ts'
import { createLog } from '../../../src/lib/log.ts'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { startEndpointMemory } from '../../../src/pbx/watch/endpoint-memory.ts'
import { emptyFolder } from '../../help/app.ts'
import { openStore } from '../../help/store.ts'

const log = createLog('silent')

function source(query = '') {
  const parsed = parsePbxUrl(`ami://watcher:secret@127.0.0.1?name=office${query}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.pbx
}

test('a process knows the endpoints and the last run of the process before it', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const store = openStore(path)
  const before = await startEndpointMemory({ calls: store.calls, ownership: OWNS_EVERYTHING }, source(), log)
  expect([before.lastRun(), before.endpoints.isConfigured()]).toEqual([null, false])
  before.setRun({ id: '2026-11-20 09:00:00', startedUs: 7 })
  before.endpoints.configure({ endpoints: { 'PJSIP/one': { registers: true } }, mailboxes: {} })
  before.endpoints.callee('PJSIP/two', { sent: '15557654321', number: '', display: '' })
  await before.stop()
  await store.stop()

  const again = openStore(path)
  const after = await startEndpointMemory({ calls: again.calls, ownership: OWNS_EVERYTHING }, source(), log)
  expect(after.lastRun()).toEqual({ id: '2026-11-20 09:00:00', startedUs: 7 })
  expect(after.endpoints.isConfigured()).toBe(true)
  expect(['PJSIP/one', 'PJSIP/two'].map((name) => after.endpoints.kindOf(name))).toEqual(['trunk', 'trunk'])
  const other = await startEndpointMemory({ calls: again.calls, ownership: OWNS_EVERYTHING }, source('2'), log)
  expect(other.endpoints.list()).toEqual([])
  await Promise.all([after.stop(), other.stop()])
  await again.stop()
})

test.each(['', 'nonsense', '{}', '[]', 'null', '{"endpoints":7}', '{"endpoints":{"seen":null}}'])(
  'a memory of %j is invalid, and is replaced',
  async (json) => {
    using folder = emptyFolder()
    const store = openStore(join(folder.path, 'hookswitch.db'))
    await store.calls.pbxMemorySet('office', json)
    const memory = await startEndpointMemory({ calls: store.calls, ownership: OWNS_EVERYTHING }, source(), log)
    memory.endpoints.callee('PJSIP/two', { sent: '15557654321', number: '', display: '' })
    await memory.stop()
    const stored = await store.calls.pbxMemoryGet('office')
    expect(JSON.parse(stored ?? '')).toMatchObject({ endpoints: { seen: { 'PJSIP/two': { proof: 'with_number' } } } })
    await store.stop()
  },
)
