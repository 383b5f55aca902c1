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
  const dialog = () => seen.page.getByRole('dialog', { name: 'Add a webhook' })
  const startAdding = async (url: string) => {
    await seen.page.getByRole('link', { name: 'Add webhook' }).click()
    await dialog().getByLabel('Address', { exact: true }).fill(url)
  }
  const add = () => dialog().getByRole('button', { name: 'Add webhook' }).click()
  const closed = () => seen.page.getByRole('dialog').waitFor({ state: 'detached' })

  test('proposes the same secret for a PBX until one is stored with it, also after another login', async () => {
    const { page } = seen
    const secret = page.getByLabel('Secret', { exact: true })
    const first = await secret.inputValue()
    expect(first).toMatch(/^[0-9a-f]{36}$/)
    await page.getByRole('button', { name: /account default/ }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await enter()
    expect(await secret.inputValue()).toBe(first)
    await page.getByLabel('Port', { exact: true }).fill(String(replay.port))
    await page.getByRole('button', { name: 'Check and connect' }).click()
    const anyway = page.getByRole('button', { name: 'Connect anyway' })
    const firstCall = page.getByRole('heading', { name: 'Make a call' })
    await anyway.or(firstCall).first().waitFor()
    if (await anyway.isVisible()) await anyway.click()
    await firstCall.waitFor()
    await page.goto(`${app.url}/#/live`)
    await page.goto(`${app.url}/#/connect`)
    await page.getByRole('heading', { name: 'Which PBX?' }).waitFor()
    expect(await secret.inputValue()).not.toBe(first)
  })

  test('names what can be done with a webhook at 1280 and 390 px, in both themes', async () => {
    const { page } = seen
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        await page.goto(`${app.url}/#/webhooks`)
        await page.getByRole('button', { name: 'More for one.example' }).click()
        for (const word of ['Open', 'Its deliveries', 'Pause', 'Remove…'])
          expect(await page.getByRole('menuitem').getByText(word, { exact: true }).isVisible()).toBe(true)
        expect(await overflowOf(page)).toBe(0)
        expect(await accessibilityFaults(page)).toEqual([])
        await page.getByRole('menuitem', { name: 'Open' }).click()
        const drawer = page.getByRole('dialog', { name: 'one.example' })
        await drawer.getByLabel('Address', { exact: true }).waitFor()
        for (const word of ['Send a test', 'Cancel', 'Save', 'Signing secret'])
          expect(await drawer.getByText(word, { exact: true }).isVisible()).toBe(true)
        expect(await overflowOf(page)).toBe(0)
        expect(await accessibilityFaults(page)).toEqual([])
        await page.keyboard.press('Escape')
        await closed()
      }
    await page.setViewportSize({ width: 1280, height: 900 })
  })

  test('adds and removes a webhook without undoing what another user does meanwhile', async () => {
    const { page } = seen
    const inForeground = await inBackground(page)
    await startAdding(THREE)
    await ask(app, 'PUT', LIST, { token, body: [webhook(ONE), webhook(TWO)] })
    await add()
    await closed()
    expect(await listed()).toEqual([ONE, TWO, THREE])
    await page.getByRole('button', { name: 'More for two.example' }).click()
    await page.getByRole('menuitem', { name: 'Remove…' }).click()
    await ask(app, 'POST', `${LIST}/item`, { token, body: webhook('https://four.example/') })
    await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('two.example is removed').waitFor()
    expect(await listed()).toEqual([ONE, THREE, 'https://four.example/'])
    await inForeground()
  })

  test('shows beside its field why one webhook is refused, and that another user has added its URL', async () => {
    const { page } = seen
    const inForeground = await inBackground(page)
    await startAdding('crm.example.com')
    const address = dialog().getByLabel('Address', { exact: true })
    await add()
    await dialog().getByRole('alert').filter({ hasText: 'https://' }).waitFor()
    expect(await address.getAttribute('aria-invalid')).toBe('true')
    await address.fill(TWO)
    const theirs = webhook(TWO, { call_saved: false })
    await ask(app, 'POST', `${LIST}/item`, { token, body: theirs })
    await add()
    await dialog().getByRole('alert').filter({ hasText: 'in the list already' }).waitFor()
    expect(await address.getAttribute('aria-invalid')).toBe('true')
    // What the other user has stored stays as it is.
    const { result } = (await ask(app, 'GET', LIST, { token })).body
    expect(result).toContainEqual(theirs)
    expect(await listed()).toEqual([ONE, THREE, 'https://four.example/', TWO])
    await dialog().getByRole('button', { name: 'Cancel' }).click()
    await closed()
    await inForeground()
  })

  test('does not say that calls are loading when the service does not answer', async () => {
    const { page } = seen
    await page.route('**/call?*', (route) => route.abort())
    await page.route('**/call', (route) => route.abort())
    await page.goto(`${app.url}/#/calls`)
    await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor()
    expect(await page.getByText('Loading calls').count()).toBe(0)
    await page.unroute('**/call?*')
    await page.unroute('**/call')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  test('has a button with words to log out, also where the bar has icons alone', async () => {
    const { page } = seen
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${app.url}/#/live`)
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'More' }).click()
    const button = page.getByRole('button', { name: 'Log out' })
    await button.waitFor()
    expect((await button.getByText('Log out').boundingBox())?.width ?? 0).toBeGreaterThan(40)
    expect(await page.getByRole('button', { name: /account default/ }).isVisible()).toBe(false)
    await button.click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  })
})
