import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { webhookRoutes } from '../../src/webhooks/routes.ts'
import { createWebhookService } from '../../src/webhooks/service.ts'
import { SILENT_AUDIT, startApi } from '../help/api.ts'
import { type Answer, ask, webhook } from '../help/client.ts'
import { ENGINES, type TestStore } from '../store/engines.ts'

const LIST = '/integration/webhook'
const ITEM = `${LIST}/item`
const A = webhook('https://a.example/x?y=1&z=ü')
const B = webhook('https://b.example/')
const C = webhook('https://c.example/')

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))(
  'one webhook of the list, on %s',
  (_, engine) => {
    let opened: TestStore
    let api: Awaited<ReturnType<typeof startApi>>
    /** The service of another process on the same store. */
    let other: ReturnType<typeof createWebhookService>
    let token: string
    let stranger: string
    /** A clock of our own, so that the rate limits hold nothing up. */
    let nowUs = 0

    beforeAll(async () => {
      if (engine.missing !== undefined) return
      opened = await engine.open()
      other = createWebhookService({ webhooks: (await opened.another()).webhooks })
      api = await startApi(opened.store, (auth) => {
        const webhooks = createWebhookService({ webhooks: opened.store.webhooks })
        return webhookRoutes({ auth, webhooks, allow: [], audit: SILENT_AUDIT, now: () => nowUs })
      })
      token = await api.logIn('default')
      stranger = await api.logIn('acme')
    })
    beforeEach(() => {
      nowUs += 60_000_000
    })
    afterAll(async () => {
      await api?.stop()
      await opened?.[Symbol.asyncDispose]()
    })

    const put = (list: unknown, as = token) => ask(api, 'PUT', LIST, { token: as, body: list })
    const get = async (as = token) => await ask(api, 'GET', LIST, { token: as })
    const append = (body: unknown, as = token) => ask(api, 'POST', ITEM, { token: as, body })
    const remove = (url: string, as = token) =>
      ask(api, 'DELETE', `${ITEM}?url=${encodeURIComponent(url)}`, { token: as })
    const errorsOf = ({ body }: Answer) => (body.result as { errors: { path: string; message: string }[] }).errors
    const engineTest = test.skipIf(engine.missing !== undefined)

    engineTest('is appended at the end, and the ETag is that of the list', async () => {
      await put([B])
      const sent = { ...A, call_saved: false }
      const appended = await append(sent)
      expect(appended).toMatchObject({ status: 200, body: { result: sent } })
      const list = await get()
      expect(list.body.result).toEqual([B, sent])
      expect(appended.headers.get('etag')).toBe(list.headers.get('etag'))
      const secrets = (await ask(api, 'GET', `${LIST}/secret`, { token })).body.result
      expect(secrets).toMatchObject([{ url: B.url }, { url: A.url, secret: expect.stringMatching(/^whsec_/) }])
    })

    engineTest('is removed, as often as it is in the list, and the others stay in order', async () => {
      await put([B, A, C, A])
      const removed = await remove(A.url)
      expect(removed).toMatchObject({ status: 200, body: { result: [] } })
      const list = await get()
      expect(list.body.result).toEqual([B, C])
      expect(removed.headers.get('etag')).toBe(list.headers.get('etag'))
    })

    engineTest('is 409 if its URL is in the list, and 404 if it is not: then nothing is changed', async () => {
      await put([A])
      expect((await append({ ...A, call_saved: false })).status).toBe(409)
      expect((await remove(B.url)).status).toBe(404)
      expect((await get()).body.result).toEqual([A])
    })

    engineTest('of another account is not touched', async () => {
      await put([A])
      await put([], stranger)
      expect((await remove(A.url, stranger)).status).toBe(404)
      expect((await append(A, stranger)).status).toBe(200)
      expect((await get()).body.result).toEqual([A])
    })

    engineTest('is 422 if the list is full, with the limit in the message', async () => {
      await put(Array.from({ length: 100 }, (_, index) => webhook(`https://example.com/${index}`)))
      const refused = await append(A)
      expect(refused.status).toBe(422)
      expect(errorsOf(refused)).toEqual([{ path: '', message: expect.stringMatching(/100 webhooks/) }])
    })

    engineTest('is checked as one of a list', async () => {
      await put([])
      const paths = async (body: unknown) => errorsOf(await append(body)).map(({ path }) => path)
      expect(await paths({ ...A, url: 'http://127.0.0.1/', call_saved: 'yes', more: 1 })).toEqual([
        '/more',
        '/call_saved',
        '/url',
      ])
      expect(await paths({ url: A.url })).toHaveLength(7)
      expect(await paths([A])).toEqual([''])
      expect(await paths(null)).toEqual([''])
      const withoutUrl = await ask(api, 'DELETE', ITEM, { token })
      expect(errorsOf(withoutUrl)).toEqual([{ path: '/url', message: 'is missing' }])
      const withBody = await ask(api, 'DELETE', `${ITEM}?url=x`, {
        token,
        raw: '{}',
        headers: { 'content-type': 'a/b' },
      })
      expect(withBody.status).toBe(415)
    })

    engineTest('loses nothing to others that change the list at the same time, also from another process', async () => {
      await put(Array.from({ length: 20 }, (_, index) => webhook(`https://example.com/old/${index}`)))
      const news = Array.from({ length: 20 }, (_, index) => webhook(`https://example.com/new/${index}`))
      const answers = await Promise.all([
        ...news.map((one, index) =>
          index % 2 === 0 ? append(one) : other.append(1, one).then(() => ({ status: 200 })),
        ),
        ...news.map((_, index) => remove(`https://example.com/old/${index}`)),
      ])
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(200))
      const urls = (await other.list(1)).list.map(({ url }) => url)
      expect(urls.toSorted()).toEqual(news.map(({ url }) => url).toSorted())
    })

    engineTest('does not undo a PUT, and a PUT of an older list does not undo it', async () => {
      await put([A])
      const etag = (await get()).headers.get('etag') ?? ''
      const [replaced, appended] = await Promise.all([
        ask(api, 'PUT', LIST, { token, body: [A, B], headers: { 'if-match': etag } }),
        append(C),
      ])
      expect(appended.status).toBe(200)
      const list = (await get()).body.result
      // Whichever came first: the PUT before the item is in the list, the PUT after it was refused.
      expect(list).toEqual(replaced.status === 200 ? [A, B, C] : [A, C])
      expect([200, 412]).toContain(replaced.status)
    })
  },
)
