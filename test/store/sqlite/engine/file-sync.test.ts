import { expect, test } from 'bun:test'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { startSyncThread } from '../../../../src/app/start-sync-thread.ts'
import { syncedMeanwhile } from '../../../../src/store/sqlite/engine/file-sync.ts'
import { emptyFolder } from '../../../help/app.ts'

test('the work begins when the thread syncs the file, and the thread ends with it', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'part')
  appendFileSync(path, 'a')
  const order: string[] = []
  let ended = false
  const start = () => {
    const thread = startSyncThread()
    thread.addEventListener('message', ({ data }) => void order.push(String(data)))
    thread.addEventListener('close', () => {
      ended = true
    })
    return thread
  }
  expect(await syncedMeanwhile(start, path, () => order.push('work'))).toBe(2)
  expect(order).toEqual(['syncing', 'work'])
  while (!ended) await new Promise(setImmediate)
})

test('the thread ends too if the work fails, or the file cannot be opened', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'part')
  let ended = 0
  const start = () => {
    const thread = startSyncThread()
    thread.addEventListener('close', () => {
      ended += 1
    })
    return thread
  }
  await expect(syncedMeanwhile(start, path, () => 0)).rejects.toThrow('ENOENT')
  appendFileSync(path, 'a')
  const failing = () => {
    throw new Error('the disk is full')
  }
  await expect(syncedMeanwhile(start, path, failing)).rejects.toThrow('the disk is full')
  while (ended < 2) await new Promise(setImmediate)
})
