import { afterEach, expect, test } from 'bun:test'
import { overview, refreshOverview } from '../../../src/web/browser/lib/connection.ts'

const realFetch = globalThis.fetch
afterEach(() => {
  globalThis.fetch = realFetch
  overview.set(null)
})

test('an overview that was asked for earlier and is answered later does not replace what is shown', async () => {
  const answers: ((webhooks: readonly { url: string }[]) => void)[] = []
  const answer = () =>
    new Promise<Response>((resolve) => {
      answers.push((webhooks) =>
        resolve(Response.json({ result: { now: '2026-11-29T10:00:00.000000Z', webhooks }, message: '' })),
      )
    })
  globalThis.fetch = Object.assign(answer, { preconnect: realFetch.preconnect })
  const shown = () => overview.get()?.webhooks.map(({ url }) => url)
  const earlier = refreshOverview()
  const later = refreshOverview()
  answers[1]?.([{ url: 'https://one.example/' }, { url: 'https://two.example/' }])
  await later
  answers[0]?.([{ url: 'https://one.example/' }])
  await earlier
  expect(shown()).toEqual(['https://one.example/', 'https://two.example/'])
})
