import { afterAll, beforeAll, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'

const folder = emptyFolder()
let app: RunningApp

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
})
afterAll(async () => {
  expect(await app.stop()).toBe(0)
  folder[Symbol.dispose]()
})

test('the compiled file serves in an empty folder with an empty environment', async () => {
  const response = await fetch(`${app.url}/health`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    status: 'success',
    code: 200,
    result: [],
    message: 'The service is healthy.',
  })
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})
