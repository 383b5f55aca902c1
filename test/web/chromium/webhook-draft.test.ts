import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { browserOfRun, CHROMIUM, type Visit, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'

const URL = 'https://crm.example/calls'
const LIST = '**/integration/webhook'

describe.skipIf(CHROMIUM === undefined)(
  'the webhook list, while a request for it is on its way (needs chromium)',
  () => {
    let folder: ReturnType<typeof emptyFolder>
    let app: RunningApp
    let seen: Visit
    beforeAll(async () => {
      folder = emptyFolder()
      app = await startServe({ cwd: folder.path })
      await addUser(folder.path, 'ada@example.com')
      await addUser(folder.path, 'eve@example.com', 'other')
      await ask(app, 'PUT', LIST.slice(2), { token: await logIn(app, 'ada@example.com'), body: [webhook(URL)] })
      seen = await visit(await browserOfRun())
    })
    afterAll(async () => {
      await seen?.page.context().close()
      await app?.stop()
      folder?.[Symbol.dispose]()
    })

    const enter = async (email: string) => {
      const { page } = seen
      await page.getByLabel('E-mail').fill(email)
      await page.getByLabel('Password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByRole('button', { name: 'Log out' }).waitFor()
    }
    /** Holds the responses to requests of a method; returns the function that releases them. */
    const hold = async (method: string) => {
      const released = Promise.withResolvers<void>()
      const arrived = Promise.withResolvers<void>()
      await seen.page.route(LIST, async (route) => {
        if (route.request().method() !== method) return route.fallback()
        const response = await route.fetch()
        arrived.resolve()
        await released.promise
        await route.fulfill({ response })
      })
      return { arrived: arrived.promise, release: released.resolve }
    }

    test('an edit made while the list is saved is kept, as a change that is not saved', async () => {
      const { page } = seen
      await page.goto(`${app.url}/#/webhooks`)
      await enter('ada@example.com')
      const switchOf = (name: string) => page.getByRole('switch', { name })
      const put = await hold('PUT')
      await switchOf('call saved').click({ force: true })
      await page.getByRole('button', { name: 'Save list' }).click()
      await put.arrived
      await switchOf('dial ended').click({ force: true })
      put.release()
      await page.getByText('Saved.').waitFor()
      await page.getByRole('region', { name: 'Unsaved changes' }).getByText('dial ended off').waitFor()
      expect(await switchOf('dial ended').isChecked()).toBe(false)
      expect(await switchOf('call saved').isChecked()).toBe(false)
      await page.unroute(LIST)
      await page.getByRole('button', { name: 'Save list' }).click()
      await page.getByText('Unsaved changes').waitFor({ state: 'detached' })
    })

    test('a list that arrives after its user has logged out is not shown to the next one', async () => {
      const { page } = seen
      const put = await hold('PUT')
      await page.getByRole('switch', { name: 'call started' }).click({ force: true })
      await page.getByRole('button', { name: 'Save list' }).click()
      await put.arrived
      await page.getByRole('button', { name: 'Log out' }).click()
      await page.getByLabel('E-mail').waitFor()
      const answered = page.waitForResponse((response) => response.request().method() === 'PUT')
      put.release()
      await answered
      const get = await hold('GET')
      await enter('eve@example.com')
      await get.arrived
      await page.getByText('Loading the list').waitFor()
      expect(await page.getByText(URL).count()).toBe(0)
      expect(await page.getByRole('textbox').count()).toBe(0)
      get.release()
      await page.getByText('No webhooks yet').waitFor()
      await page.unroute(LIST)
    })
  },
)
