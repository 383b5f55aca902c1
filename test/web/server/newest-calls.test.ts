import { expect, test } from 'bun:test'
import { newestCalls } from '../../../src/web/server/newest-calls.ts'

test('the newest calls come first, whatever their order; the parts of the others are not made', async () => {
  const made: string[] = []
  const ids = ['03', '01', '05', '02', '04']
  const calls = ids.map((id) => ({
    id,
    get call() {
      made.push(id)
      return { id }
    },
  }))
  const { newest, count } = await newestCalls(calls, 2)
  expect([newest.map(({ call }) => call.id), count, made]).toEqual([['05', '04'], 5, ['05', '04']])
})
