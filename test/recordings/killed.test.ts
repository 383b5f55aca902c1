import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nowUs } from '../../src/lib/time.ts'
import type { RecordingRecord } from '../../src/store/operations/recordings.ts'
import { emptyFolder } from '../help/app.ts'
import { createRandom } from '../help/random.ts'
import { batch, openStore } from '../help/store.ts'

const COUNT = 60
const BYTES = 400_000

test('a process that is killed again and again saves each recording once, and its copy is whole', async () => {
  using folder = emptyFolder()
  mkdirSync(join(folder.path, 'monitor'))
  const store = openStore(join(folder.path, 'hookswitch.db'))
  const recordings = Array.from({ length: COUNT }, (_, at): RecordingRecord => {
    writeFileSync(join(folder.path, 'monitor', `${at}.wav`), Buffer.alloc(BYTES, `sound ${at} `))
    return {
      ...{ callId: 'call', id: `recording-${at}`, accountId: 1, pbx: 'office', path: `${at}.wav`, state: 'pending' },
      ...{ sinceUs: nowUs(), sequence: 1, error: null, sizeBytes: null, stamp: null, sha256: null },
      ...{ mediaType: null, copy: null },
    }
  })
  const call = { savedUs: 1, direction: 'inbound' as const, fromNumber: null, toNumber: null, record: '{}' }
  await store.calls.batchStore(batch({ saved: [{ id: 'call', ...call }] }, { recordings }))
  const random = createRandom(9)
  let kills = 0
  while ((await store.recordings.recordingCount()).saved < COUNT) {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, '../help/saver-process.ts'), folder.path], {
      stdout: 'pipe',
      stderr: 'inherit',
    })
    await child.stdout.getReader().read()
    // Anywhere in its work; later from time to time, so that it gets on however slow the machine is.
    await Bun.sleep(random.int(40 + kills * 5))
    child.kill('SIGKILL')
    await child.exited
    kills += 1
  }
  const events = await store.log.eventListOfCall(1, 'call')
  expect(events.map(({ uuid }) => uuid).toSorted()).toEqual(recordings.map(({ id }) => id).toSorted())
  const saved = await store.recordings.recordingListOfCalls(['call'])
  for (const { id, copy, path } of saved) {
    const original = readFileSync(join(folder.path, 'monitor', path))
    expect([id, readFileSync(join(folder.path, 'copies', copy ?? '')).equals(original)]).toEqual([id, true])
  }
  const names = readdirSync(join(folder.path, 'copies'), { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => name.endsWith('.bin'))).toHaveLength(COUNT)
  await store.stop()
})
