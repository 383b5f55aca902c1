import { afterAll, describe, expect, test } from 'bun:test'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { startSyncThread } from '../../src/app/start-sync-thread.ts'
import { createEventReader } from '../../src/calls/api/event-reader.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { backupStore } from '../../src/store/sqlite/engine/backup.ts'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { emptyFolder } from '../help/app.ts'
import { databaseSource, POSTGRES_MISSING, startPostgres } from '../help/postgres.ts'
import { storeEvents } from '../help/store.ts'

/**
 * Cursors of `GET /event` when the store returns to an earlier state. An event that a cursor has seen and the store has
 * lost is never taken for another event, however many events are stored afterwards.
 */

const ACCOUNT = 1
let made = 0

/** Stores events one by one. Returns the cursor behind each, as a client gets it. */
async function putEach(store: Store, count: number): Promise<string[]> {
  const cursors: string[] = []
  for (let n = 0; n < count; n += 1) {
    made += 1
    const uuid = `01a1f901-0000-7000-8000-${String(made).padStart(12, '0')}`
    const event = { uuid, callId: `call-${made}`, name: 'call_started' as const, sequence: 1, atUs: made, body: '{}' }
    await storeEvents(store, [event])
    cursors.push(await read(store, 'now').then((page) => ('nextCursor' in page ? page.nextCursor : 'none')))
  }
  return cursors
}

const read = (store: Store, after: string) => createEventReader(store).read(ACCOUNT, { after, limit: 1_000, waitMs: 0 })

/** Reads behind each cursor: how many events there are, or why the cursor is of no use. */
const readAll = (store: Store, cursors: readonly string[]) =>
  Promise.all(
    cursors.map(async (cursor) => {
      const page = await read(store, cursor)
      return 'gone' in page ? page.gone : page.items.length
    }),
  )

const OTHER = 'other history'

describe('SQLite', () => {
  const folder = emptyFolder()
  afterAll(() => folder[Symbol.dispose]())

  /** How a store returns to an earlier state. `save` keeps its present state. */
  const ways: [string, (path: string, saved: string) => Promise<void> | void][] = [
    ['a backup', async (path, saved) => void (await backupStore(path, saved, startSyncThread))],
    [
      'a copy of its files',
      (path, saved) => {
        for (const end of ['', '-wal']) cpSync(path + end, saved + end)
      },
    ],
  ]
  test.each(ways)('after %s was restored', async (name, save) => {
    const path = join(folder.path, `${name}.db`)
    const saved = join(folder.path, `${name}-saved.db`)
    const first = openSqliteStore(path)
    const kept = await putEach(first, 2)
    await save(path, saved)
    const lost = await putEach(first, 2)
    await first.stop()
    const second = openSqliteStore(path)
    lost.push(...(await putEach(second, 2)))
    // A restart alone loses nothing.
    expect(await readAll(second, [...kept, ...lost])).toEqual([5, 4, 3, 2, 1, 0])
    await second.stop()
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
    cpSync(saved, path)
    rmSync(`${saved}-shm`, { force: true })
    try {
      cpSync(`${saved}-wal`, `${path}-wal`)
    } catch {
      // A backup has none.
    }
    const third = openSqliteStore(path)
    expect(await readAll(third, [...kept, ...lost])).toEqual([1, 0, OTHER, OTHER, OTHER, OTHER])
    const later = await putEach(third, 9)
    expect(await readAll(third, [...kept, ...lost])).toEqual([10, 9, OTHER, OTHER, OTHER, OTHER])
    expect(await readAll(third, later)).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0])
    await third.stop()
    const fourth = openSqliteStore(path)
    await putEach(fourth, 1)
    expect(await readAll(fourth, [...kept, ...lost, ...later.slice(0, 1)])).toEqual([
      11,
      10,
      OTHER,
      OTHER,
      OTHER,
      OTHER,
      9,
    ])
    await fourth.stop()
  })

  test('a reader that waits gets what comes in the next run', async () => {
    const path = join(folder.path, 'waiting.db')
    const store = openSqliteStore(path)
    const [cursor = ''] = await putEach(store, 1)
    const other = openSqliteStore(path)
    const reader = createEventReader(store)
    const waiting = reader.read(ACCOUNT, { after: cursor, limit: 9, waitMs: 60_000 })
    await putEach(other, 1)
    reader.wake()
    expect(await waiting).toMatchObject({ items: [{ sequence: 1 }] })
    await other.stop()
    await store.stop()
  })
})

describe.skipIf(POSTGRES_MISSING !== undefined)('Postgres', () => {
  test('after a restart, and after a standby took over that lacks events', async () => {
    const primary = await startPostgres()
    const store = await openPostgresStore(databaseSource(primary.url))
    const kept = await putEach(store, 2)
    const standby = await primary.standby()
    // The primary was restarted for that: nothing is lost.
    kept.push(...(await putEach(store, 1)))
    expect(await readAll(store, kept)).toEqual([2, 1, 0])
    const followed = new SQL({ url: standby.url, max: 1 })
    for (;;) {
      const [row] = await followed`SELECT count(*)::int AS count FROM events`
      if (row.count === 3) break
      await Bun.sleep(10)
    }
    await followed.close()
    await standby.halt('fast')
    const lost = await putEach(store, 2)
    expect(await readAll(store, [...kept, ...lost])).toEqual([4, 3, 2, 1, 0])
    await store.stop()
    await primary.halt('immediate')
    await standby.resume()
    const promoting = new SQL({ url: standby.url, max: 1 })
    await promoting`SELECT pg_promote()`
    await promoting.close()
    const next = await openPostgresStore(databaseSource(standby.url), { withinMs: 30_000 })
    expect(await readAll(next, [...kept, ...lost])).toEqual([2, 1, 0, OTHER, OTHER])
    const later = await putEach(next, 5)
    expect(await readAll(next, [...kept, ...lost, ...later])).toEqual([7, 6, 5, OTHER, OTHER, 4, 3, 2, 1, 0])
    await next.stop()
    await standby.halt('immediate')
    await primary.stop()
  })
})
