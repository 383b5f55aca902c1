import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockFolder } from '../../../src/store/sqlite/engine/folder-lock.ts'
import {
  journalPath,
  openOutcomeJournal,
  readOutcomeJournal,
} from '../../../src/store/sqlite/engine/outcome-journal.ts'
import { bytesOf, checksumOf, JOURNAL_WORD, outcomesOf } from '../../../src/store/sqlite/outcome-bytes.ts'
import { openSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { Store } from '../../../src/store/store.ts'
import { emptyFolder } from '../../help/app.ts'
import { storeEvents } from '../../help/store.ts'
import { entry, event, idsOf, NOW, outcomes } from '../conformance/rig.ts'

const FORMAT = { journalWord: JOURNAL_WORD, checksumOf }
const thread = () => new Worker(new URL('../../../src/app/writer.ts', import.meta.url).href)

/** A store with pending deliveries; a service is opened on it and never stopped, as if it were killed. */
async function newStore(deliveries: number) {
  const folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const setup = openSqliteStore(path)
  const list = [entry('https://one.example/')]
  await setup.webhooks.listReplace({ accountId: 1, list, ifMatch: null, secrets: ['whsec_1'], nowUs: NOW })
  const ids = idsOf(
    await storeEvents(
      setup,
      Array.from({ length: deliveries }, () => event()),
    ),
  )
  await setup.stop()
  return { folder, path, ids, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

const stateOf = async (store: Store, id: number) => {
  const found = await store.log.deliveryGet(null, id)
  return [found?.state, found?.attempts.map(({ response }) => response)]
}

/** Opens another process's store on a path for one piece of work. */
async function withStore<Result>(path: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = openSqliteStore(path)
  try {
    return await work(store)
  } finally {
    await store.stop()
  }
}

test('outcomes that a killed service kept are in the store of the next process, and nowhere else', async () => {
  using at = await newStore(3)
  const [first = 0, second = 0, third = 0] = at.ids
  const killed = openSqliteStore(at.path, { thread })
  expect(killed.queue.outcomeKeep(outcomes([first], { state: 'delivered', response: 'fine' }))).toBe(true)
  expect(killed.queue.outcomeKeep(outcomes([second], { state: 'pending', dueSteadyUs: NOW * 2 }))).toBe(true)
  expect(readFileSync(journalPath(at.path)).includes('fine')).toBe(true)
  await withStore(at.path, async (store) => {
    expect(await stateOf(store, first)).toEqual(['delivered', ['fine']])
    expect(await stateOf(store, second)).toEqual(['pending', ['ok']])
    expect(await stateOf(store, third)).toEqual(['pending', []])
  })
  expect(existsSync(journalPath(at.path))).toBe(false)
  await killed.stop()
})

test('the next service finds them too', async () => {
  using at = await newStore(1)
  const killed = openSqliteStore(at.path, { thread })
  killed.queue.outcomeKeep(outcomes(at.ids, { state: 'delivered' }))
  const next = openSqliteStore(at.path, { thread })
  expect(await stateOf(next, at.ids[0] ?? 0)).toEqual(['delivered', ['ok']])
  await next.stop()
  await killed.stop()
})

test('a command beside a running service leaves them to it', async () => {
  using at = await newStore(1)
  const lock = lockFolder(join(at.folder.path, 'lock'))
  const running = openSqliteStore(at.path, { thread })
  const batch = outcomes(at.ids, { state: 'delivered' })
  running.queue.outcomeKeep(batch)
  await withStore(at.path, async (store) => {
    expect(await stateOf(store, at.ids[0] ?? 0)).toEqual(['pending', []])
  })
  expect(await running.queue.deliveryRecordOutcomes(batch)).toEqual([])
  expect(await stateOf(running, at.ids[0] ?? 0)).toEqual(['delivered', ['ok']])
  await running.stop()
  lock.release()
})

test('recorded outcomes are no longer in the file, and the file is deleted when the service stops', async () => {
  using at = await newStore(1)
  const store = openSqliteStore(at.path, { thread })
  const batch = outcomes(at.ids, { state: 'delivered', response: 'Anna Beispiel' })
  store.queue.outcomeKeep(batch)
  await store.queue.deliveryRecordOutcomes(batch)
  expect(readFileSync(journalPath(at.path)).includes('Anna Beispiel')).toBe(false)
  await store.stop()
  expect(existsSync(journalPath(at.path))).toBe(false)
})

test('a delivery that was retried by hand since is not ended by the outcome before', async () => {
  using at = await newStore(1)
  const [id = 0] = at.ids
  const killed = openSqliteStore(at.path, { thread })
  const batch = outcomes([id], { state: 'delivered' })
  killed.queue.outcomeKeep(batch)
  const journal = readFileSync(journalPath(at.path))
  await killed.queue.deliveryRecordOutcomes(batch)
  expect(await killed.queue.deliveryRetry({ accountId: 1, id, nowSteadyUs: NOW })).toBe('queued')
  await killed.stop()
  // As if the process had been killed before it noted that the outcome is in the store.
  writeFileSync(journalPath(at.path), journal)
  await withStore(at.path, async (store) => {
    expect(await stateOf(store, id)).toEqual(['pending', ['ok']])
  })
})

test('the journal of another store is ignored', async () => {
  using at = await newStore(1)
  using other = await newStore(1)
  const killed = openSqliteStore(at.path, { thread })
  killed.queue.outcomeKeep(outcomes(at.ids, { state: 'delivered' }))
  writeFileSync(journalPath(other.path), readFileSync(journalPath(at.path)))
  await withStore(other.path, async (store) => {
    expect(await stateOf(store, other.ids[0] ?? 0)).toEqual(['pending', []])
  })
  await killed.stop()
})

/** A journal without a store. */
function newJournal() {
  const folder = emptyFolder()
  const path = join(folder.path, 'hookswitch.db')
  const journal = openOutcomeJournal(path, 'key', FORMAT)
  if (journal === undefined) throw new Error('this file system has no journal')
  return {
    journal,
    path,
    read: () => readOutcomeJournal(path, 'key', FORMAT).flatMap((one) => [...outcomesOf(one)].map((o) => o.deliveryId)),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

const record = (id: number, response = 'ok') =>
  new Int32Array(bytesOf(outcomes([id], { state: 'delivered', response })).buffer)

test('a journal has the kept outcomes that are not in the store, in order, over both halves', () => {
  using at = newJournal()
  const kept = []
  for (let id = 1; ; id += 1) {
    const one = at.journal.keep(record(id, 'x'.repeat(4_000)), 0)
    if (one === undefined) break
    kept.push(one)
  }
  const all = kept.map((_, index) => index + 1)
  expect(all.length).toBeGreaterThan(200)
  expect(at.read()).toEqual(all)
  at.journal.applied(kept.slice(10, 20))
  expect(at.read()).toEqual(all)
  at.journal.applied(kept.slice(0, 10))
  expect(at.read()).toEqual(all.slice(20))
  // The first half has room again when all of it is in the store.
  const half = Math.ceil(kept.length / 2)
  at.journal.applied(kept.slice(20, half))
  expect(at.journal.keep(record(10_001), 0)).toBeDefined()
  expect(at.read()).toEqual([...all.slice(half), 10_001])
  at.journal.applied(kept.slice(half))
  expect(at.read()).toEqual([10_001])
})

test('a record that was cut off, and all behind it, is left out', () => {
  using at = newJournal()
  for (const id of [1, 2, 3]) at.journal.keep(record(id), 0)
  const file = readFileSync(journalPath(at.path))
  const length = record(1).byteLength
  file[4_096 + length + 20] = (file[4_096 + length + 20] ?? 0) ^ 1
  writeFileSync(journalPath(at.path), file)
  expect(at.read()).toEqual([1])
})

test.each([
  ['a folder', (path: string) => mkdirSync(path)],
  ['a named pipe', (path: string) => void Bun.spawnSync(['mkfifo', path])],
])('%s with the name of the kept outcomes is named, with the way out', async (_, make) => {
  using at = await newStore(1)
  make(journalPath(at.path))
  expect(() => openSqliteStore(at.path, { thread })).toThrow(
    `${journalPath(at.path)} cannot be used (it is not a file): move it away`,
  )
})
