import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { browserOfRun, CHROMIUM, type Visit, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const ANNA = 'anna@acme.example'
const BEN = 'ben@other.example'
/** What only the first account has: a number of its call, and its webhook. */
const OF_ANNA = /15551230001|acme-receiver/

describe.skipIf(CHROMIUM === undefined)('two users of one browser (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  let held: Promise<void> | null = null
  let heldAnswers = 0
  const replay = startReplay({ files: [fixture('h-ring-group.ami')], speed: 20, againAfterMs: 1_000 })

  beforeAll(async () => {
    folder = emptyFolder()
    const pbx = `${replay.url}?name=office&account=acme`
    await addUser(folder.path, ANNA, 'acme')
    app = await startServe({ cwd: folder.path, args: ['--allow-net', 'loopback', '--pbx', pbx] })
    await addUser(folder.path, BEN, 'other')
    const token = await logIn(app, ANNA)
    const url = 'http://localhost:1/acme-receiver'
    await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })
    await until('a call is in the list', async () => {
      const { items } = (await ask(app, 'GET', '/call', { token })).body.result as { items: unknown[] }
      return items.length > 0
    })
    seen = await visit(await browserOfRun(), { viewport: { width: 1_280, height: 800 } })
    await seen.page.route(/\/(overview|call|phone|queue|trunk|agent|integration)\b/, async (route) => {
      if (held === null) return route.continue()
      const response = await route.fetch()
      heldAnswers++
      await held
      await route.fulfill({ response }).catch(() => {})
    })
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    await replay.stop()
    folder?.[Symbol.dispose]()
  })

  const logInAs = async (email: string) => {
    const { page } = seen
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
  }
  const logOut = async () => {
    await seen.page.getByRole('button', { name: /^A\. Tester|account / }).click()
    await seen.page.getByRole('menuitem', { name: 'Log out' }).click()
    await seen.page.getByLabel('E-mail').waitFor()
  }

  test.each(['live', 'calls', 'webhooks', 'deliveries'])(
    'an answer that comes after the log-out is not shown to the next user: %s',
    async (view) => {
      const { page } = seen
      await page.goto(`${app.url}/#/${view}`)
      await logInAs(ANNA)
      // It would be shown.
      await page.getByText(OF_ANNA).filter({ visible: true }).first().waitFor()
      await page.goto(`${app.url}/#/account`)
      await page.getByRole('heading', { name: 'Your account' }).waitFor()
      const { promise, resolve: release } = Promise.withResolvers<void>()
      const before = heldAnswers
      held = promise
      await page.goto(`${app.url}/#/${view}`)
      await until('an answer is on its way', () => heldAnswers > before)
      await logOut()
      held = null
      await logInAs(BEN)
      await page.locator('.shell[data-connection=up]').waitFor()
      const answered = page.waitForResponse(() => true)
      release()
      await answered
      // The next overview is Ben's, and it was asked for after the late answer.
      await page.waitForResponse((response) => response.url().includes('/overview'))
      expect(await page.locator('body').textContent()).not.toMatch(OF_ANNA)
      await logOut()
    },
  )

  test('a user who logs in in another tab takes the page of the first one away', async () => {
    const { page } = seen
    const stay = async (email: string, tab: typeof page) => {
      await tab.getByLabel('E-mail').fill(email)
      await tab.getByLabel('Password').fill(PASSWORD)
      await tab.getByLabel('Stay logged in').check()
      await tab.getByRole('button', { name: 'Log in' }).click()
    }
    await page.goto(`${app.url}/#/webhooks`)
    await stay(ANNA, page)
    await page.getByText(OF_ANNA).filter({ visible: true }).first().waitFor()
    const other = await page.context().newPage()
    await other.goto(app.url)
    await other.locator('.shell[data-connection=up]').waitFor()
    const ben = await logIn(app, BEN)
    // As a log-in in the other tab does it.
    await other.evaluate((token) => localStorage.setItem('hookswitch.token', token), ben)
    await page.getByText('No webhooks yet').waitFor()
    expect(await page.locator('body').textContent()).not.toMatch(OF_ANNA)
    await other.close()
    expect(seen.faults).toEqual([])
  })
})
