import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import {
  accessibilityFaults,
  browserOfRun,
  CHROMIUM,
  inBackground,
  overflowOf,
  type Visit,
  visit,
} from '../../help/browser.ts'
import { ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'
const LIST = '/integration/webhook'
const [ONE, TWO, THREE] = ['https://one.example/', 'https://two.example/', 'https://three.example/'] as const

describe.skipIf(CHROMIUM === undefined)('the page, to somebody who is new to it (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let replay: ReturnType<typeof startReplay>
  let app: RunningApp
  let seen: Visit
  let token: string
  beforeAll(async () => {
    folder = emptyFolder()
    replay = startReplay({ files: [fixture('o-ivr-no-dial.ami')] })
    app = await startServe({ cwd: folder.path })
    const add = ['user', 'add', '--admin', '--email', EMAIL, '--name', 'Ada']
    await run(add, { cwd: folder.path, stdin: PASSWORD })
    token = await logIn(app, EMAIL)
    await ask(app, 'PUT', LIST, { token, body: [webhook(ONE)] })
    seen = await visit(await browserOfRun(), { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    await seen.page.goto(`${app.url}/#/connect`)
    await enter()
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    await replay?.stop()
    folder?.[Symbol.dispose]()
  })

  const enter = async () => {
    const { page } = seen
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
  }
  const listed = async () =>
    ((await ask(app, 'GET', LIST, { token })).body.result as { url: string }[]).map(({ url }) => url)
  const save = async () => {
    await seen.page.getByRole('button', { name: 'Save list' }).click()
    await seen.page.getByText('Unsaved changes').waitFor({ state: 'detached' })
  }

  test('proposes the same secret for a PBX until one is stored with it, also after another login', async () => {
    const { page } = seen
    const secret = page.getByLabel('Secret', { exact: true })
    const first = await secret.inputValue()
    expect(first).toMatch(/^[0-9a-f]{36}$/)
    await page.getByRole('button', { name: 'Log out' }).click()
    await enter()
    expect(await secret.inputValue()).toBe(first)
    await page.getByLabel('Port').fill(String(replay.port))
    await page.getByRole('button', { name: 'Check and connect' }).click()
    await page.getByRole('button', { name: 'Connect anyway' }).or(page.getByText('3. The first call')).first().waitFor()
    if (await page.getByRole('button', { name: 'Connect anyway' }).isVisible())
      await page.getByRole('button', { name: 'Connect anyway' }).click()
    await page.getByText('3. The first call').waitFor()
    await page.goto(`${app.url}/#/live`)
    await page.goto(`${app.url}/#/connect`)
    await page.getByText('1. Where is it?').waitFor()
    expect(await secret.inputValue()).not.toBe(first)
  })

  test('names the buttons of a webhook at 1280 and 390 px, in both themes', async () => {
    const { page } = seen
    await page.goto(`${app.url}/#/webhooks`)
    const row = page.getByRole('listitem').filter({ has: page.getByRole('group', { name: ONE }) })
    await row.waitFor()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        for (const word of ['Charts', 'Options', 'Secret', 'Test', 'Remove'])
          expect(await row.getByText(word, { exact: true }).isVisible()).toBe(true)
        expect(await overflowOf(page)).toBe(0)
        expect(await accessibilityFaults(page)).toEqual([])
      }
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('adds and removes a webhook without undoing what another user does meanwhile', async () => {
    const { page } = seen
    const inForeground = await inBackground(page)
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByPlaceholder('https://').last().fill(THREE)
    await ask(app, 'PUT', LIST, { token, body: [webhook(ONE), webhook(TWO)] })
    await save()
    await until('both are there', async () => (await listed()).length === 3)
    expect(await listed()).toEqual([ONE, TWO, THREE])
    await page.getByRole('button', { name: `Remove ${TWO}` }).click()
    await ask(app, 'POST', `${LIST}/item`, { token, body: webhook('https://four.example/') })
    await save()
    expect(await listed()).toEqual([ONE, THREE, 'https://four.example/'])
    await inForeground()
  })

  test('shows beside its field why one webhook is refused, and a URL that is already there as a conflict', async () => {
    const { page } = seen
    const inForeground = await inBackground(page)
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByPlaceholder('https://').last().fill('crm.example.com')
    await page.getByRole('button', { name: 'Save list' }).click()
    await page.getByRole('alert').filter({ hasText: 'https://' }).waitFor()
    await page.getByPlaceholder('https://').last().fill(TWO)
    await ask(app, 'POST', `${LIST}/item`, { token, body: webhook(TWO, { call_saved: false }) })
    await page.getByRole('button', { name: 'Save list' }).click()
    await page.getByRole('alert', { name: 'Changed by someone else' }).waitFor()
    await page.getByRole('button', { name: 'Discard mine, keep theirs' }).click()
    await inForeground()
  })

  test('does not say that calls are loading when the service does not answer', async () => {
    const { page } = seen
    await page.route('**/call?*', (route) => route.abort())
    await page.route('**/call', (route) => route.abort())
    await page.goto(`${app.url}/#/calls`)
    await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor()
    expect(await page.getByText('Loading calls').isVisible()).toBe(false)
    await page.unroute('**/call?*')
    await page.unroute('**/call')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  test('has a button with words to log out, also where the bar has icons alone', async () => {
    const { page } = seen
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${app.url}/#/account`)
    await page.getByRole('heading', { name: 'Account' }).waitFor()
    const visible = page.locator('button:visible', { hasText: 'Log out' })
    expect(await visible.count()).toBeGreaterThan(0)
    expect((await visible.first().boundingBox())?.width ?? 0).toBeGreaterThan(60)
    expect(await page.locator('.sidebar .log-out').isVisible()).toBe(false)
    await visible.first().click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })
})
