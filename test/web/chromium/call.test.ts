import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Route } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { type Receiver, startReceiver, until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'

describe.skipIf(CHROMIUM === undefined)('calls from the page, in a browser (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  let receiver: Receiver
  const replay = startReplay({ files: [fixture('h-ring-group.ami')], speed: 20 })
  /** What the page has sent to `POST /call`, and what it is answered; `null`: the service answers. */
  const sent: unknown[] = []
  let answer: { status: number; body: unknown } | null = null

  beforeAll(async () => {
    folder = emptyFolder()
    receiver = startReceiver()
    app = await startServe({
      cwd: folder.path,
      args: ['--allow-net', 'loopback', '--no-calls', '--pbx', `${replay.url}?name=office&calls=caller:secret`],
    })
    await addUser(folder.path, EMAIL)
    seen = await visit(await browserOfRun(), { viewport: { width: 1_280, height: 800 }, colorScheme: 'light' })
    await seen.page.route('**/call', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      sent.push(route.request().postDataJSON())
      if (answer === null) return route.continue()
      return route.fulfill({ status: answer.status, json: { status: '', code: answer.status, ...Object(answer.body) } })
    })
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    await replay.stop()
    receiver?.stop()
    folder?.[Symbol.dispose]()
  })
  const drawer = () => seen.page.getByRole('dialog', { name: /^Call / })
  const press = () =>
    drawer()
      .getByRole('button', { name: /^Call / })
      .click()

  test('a link with a number shows it after the log-in, with a button: nothing is dialled without a press', async () => {
    const { page } = seen
    await page.goto(`${app.url}/#call=+49 (30) 123-456`)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await drawer().getByRole('button', { name: 'Call +4930123456', exact: true }).waitFor()
    // The address is a view's again: reading it anew shows no number.
    expect(page.url()).toEndWith('#/live')
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await accessibilityFaults(page)).toEqual([])
      expect(await overflowOf(page)).toBe(0)
    }
    await page.setViewportSize({ width: 1_280, height: 800 })
    expect(sent).toEqual([])
  })

  test('what the service answers is said where it belongs', async () => {
    for (const [status, body, said] of [
      [409, { message: 'The phone 101 is in such a call.', result: [] }, 'The phone 101 is in such a call.'],
      [429, { message: 'Too many calls. Try again in 12 s.', result: [] }, 'Too many calls. Try again in 12 s.'],
      [
        422,
        { message: 'Wrong.', result: { errors: [{ path: '/from', message: 'is not a phone of this account' }] } },
        'The extension is not a phone of this account',
      ],
      [
        422,
        { message: 'Wrong.', result: { errors: [{ path: '/to', message: 'may not be called' }] } },
        'The number may not be called',
      ],
      [
        422,
        { message: 'Wrong.', result: { errors: [{ path: '/pbx', message: 'must say which PBX: office, hotel' }] } },
        'This must say which PBX: office, hotel',
      ],
    ] as const) {
      answer = { status, body }
      await drawer().getByLabel('From my phone').fill('101')
      await press()
      await drawer().getByText(said).waitFor()
    }
    // Two PBXs may have the extension: then it is asked which.
    await drawer().getByLabel('PBX').selectOption('office')
    answer = { status: 200, body: { message: '', result: { request_id: 'r', call_id: null } } }
    await press()
    await drawer().getByText('Your phone rings').waitFor()
    expect(sent.at(-1)).toEqual({ from: '101', to: '+4930123456', pbx: 'office' })
    await drawer().getByRole('button', { name: 'Close', exact: true }).last().click()
  })

  test('a number on the page has a button, and the phone is asked for once', async () => {
    const { page } = seen
    await until('the call is in the list', async () => {
      const token = await logIn(app, EMAIL)
      const { items } = (await ask(app, 'GET', '/call', { token })).body.result as { items: unknown[] }
      return items.length > 0
    })
    await page.goto(`${app.url}/#/calls`)
    await page.locator('tbody tr:not(.day, .bones)').first().getByRole('link').first().click()
    await page.getByRole('button', { name: /^Call .* from my phone$/ }).click()
    expect(await drawer().getByLabel('From my phone').inputValue()).toBe('101')
    await page.keyboard.press('Escape')
    await drawer().waitFor({ state: 'detached' })
  })

  test('where no PBX makes calls, no number has a button', async () => {
    const { page } = seen
    const withoutCalls = async (route: Route) => {
      const response = await route.fetch()
      const { result, ...envelope } = await response.json()
      const pbxs = result.pbxs.map((pbx: object) => ({ ...pbx, calls: false }))
      await route.fulfill({ response, json: { ...envelope, result: { ...result, pbxs } } })
    }
    const button = page.getByRole('button', { name: /^Call .* from my phone$/ })
    await page.route('**/overview*', withoutCalls)
    await button.waitFor({ state: 'detached' })
    await page.unroute('**/overview*', withoutCalls)
    await button.waitFor()
  })

  test('who may make no calls is told so, and no number has a button any more', async () => {
    const { page } = seen
    answer = null
    await page.getByRole('button', { name: /^Call .* from my phone$/ }).click()
    await press()
    await drawer().getByRole('alert').filter({ hasText: 'calls' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('button', { name: /from my phone$/ }).count()).toBe(0)
  })

  test('what is no number is not dialled', async () => {
    const { page } = seen
    await page.goto(`${app.url}/#call=<b>1</b>`)
    await drawer().getByText('is no number that a phone can dial').waitFor()
    expect(
      await drawer()
        .getByRole('button', { name: /^Call / })
        .count(),
    ).toBe(0)
    await page.keyboard.press('Escape')
  })

  test('past calls are sent to a webhook that was added after them', async () => {
    const { page } = seen
    const token = await logIn(app, EMAIL)
    const url = `${receiver.url}/late`
    await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(url)] })
    await page.goto(`${app.url}/#/webhooks`)
    await page.getByRole('table', { name: 'Webhooks' }).getByRole('link').first().click()
    const webhookDrawer = page.getByRole('dialog')
    await webhookDrawer.getByText('Past calls', { exact: true }).click()
    expect(await accessibilityFaults(page)).toEqual([])
    await webhookDrawer.getByRole('button', { name: 'Send past calls' }).click()
    await webhookDrawer.getByText(/^\d+ events on the way\.$/).waitFor()
    await until('they arrived', () => receiver.received.some(({ body }) => body.includes('call_saved')))
    expect(seen.faults).toEqual([])
  })
})
