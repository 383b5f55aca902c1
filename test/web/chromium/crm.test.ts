import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { ask, newToken, PASSWORD, webhook } from '../../help/client.ts'
import { startAmocrm } from '../../help/crm/amocrm.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'
const OTHER = 'https://one.example/'
const KEY = 'long-lived'
/** A folder for pictures of each step, to be looked at by a person. */
const PICTURES = process.env.HOOKSWITCH_PICTURES

type Options = { url: string; name: string; events: string[]; flow: { preset: string; parameters: unknown } }

describe.skipIf(CHROMIUM === undefined)('a CRM is connected in the page (needs chromium)', () => {
  const crm = startAmocrm()
  let replay: ReturnType<typeof startReplay>
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  let token: string
  beforeAll(async () => {
    folder = emptyFolder()
    replay = startReplay({ files: [fixture('h2-ring-group-local.ami')], speed: 20 })
    const pbx = `ami://watcher:secret@127.0.0.1:${replay.port}?name=office`
    app = await startServe({ cwd: folder.path, args: ['--allow-net', 'loopback', '--pbx', pbx] })
    token = await newToken(app, EMAIL)
    await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(OTHER)] })
    seen = await visit(await browserOfRun(), { viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' })
    const { page } = seen
    // Two PBXs may have phones with the same extension.
    const phone = (pbx: string, extension: string, name: string | null, state: string) => ({
      pbx,
      extension,
      name,
      state,
      since: null,
      device: 'idle',
      contacts: 1,
    })
    const result = [
      phone('hotel', '101', 'Hotel desk', 'unregistered'),
      phone('hotel', '204', null, 'unreachable'),
      phone('office', '101', 'Anna Smith', 'registered'),
      phone('office', '102', 'Ben Fox', 'registered'),
    ]
    await page.route('**/phone', (route) => route.fulfill({ json: { status: 'success', code: 200, result } }))
    await page.goto(`${app.url}/#/webhooks`)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await rowOf(OTHER).waitFor()
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    await replay?.stop()
    folder?.[Symbol.dispose]()
    crm.stop()
  })

  const optionsOf = async (url: string) =>
    ((await ask(app, 'GET', '/integration/webhook/options', { token })).body.result as Options[]).find(
      (one) => one.url === url,
    )
  /** The row of a webhook without a name, which is called by its address. */
  const rowOf = (url: string) => seen.page.getByRole('row').filter({ hasText: new URL(url).host })
  const closed = () => seen.page.getByRole('dialog').waitFor({ state: 'detached' })
  /** Opens the drawer of a webhook. */
  const openDrawer = async (url: string) => {
    await rowOf(url).getByRole('link').click()
    const drawer = seen.page.getByRole('dialog')
    await drawer.getByLabel('Address', { exact: true }).waitFor()
    return drawer
  }
  /** The form of a CRM, over the drawer of its webhook. */
  const crmForm = () => seen.page.getByRole('dialog', { name: 'CRM', exact: true })
  /** Opens the form of a new webhook to a CRM. */
  const addCrm = async () => {
    const { page } = seen
    await page.getByRole('link', { name: /^Add/ }).click()
    const drawer = page.getByRole('dialog', { name: 'Add a webhook' })
    await drawer.getByRole('radio', { name: 'A CRM' }).check({ force: true })
    await drawer.getByLabel('CRM', { exact: true }).waitFor()
    return drawer
  }
  /** Checks the page at the width of a screen and of a phone, in both themes. */
  const examine = async (name: string) => {
    const { page } = seen
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1280, 390]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 900 })
        expect(await overflowOf(page)).toBe(0)
        const wide = await page.evaluate(() =>
          [...document.querySelectorAll('dialog, .drawer-body')].reduce(
            (sum, { scrollWidth, clientWidth }) => sum + scrollWidth - clientWidth,
            0,
          ),
        )
        expect([name, width, wide]).toEqual([name, width, 0])
        expect(await accessibilityFaults(page)).toEqual([])
        if (PICTURES !== undefined)
          await page.screenshot({ path: `${PICTURES}/${name}-${width}-${colorScheme}.png`, animations: 'disabled' })
      }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1280, height: 900 })
  }

  test('it is chosen, and each missing value is reported at its field', async () => {
    const dialog = await addCrm()
    await dialog.getByLabel('CRM', { exact: true }).selectOption({ label: 'amoCRM, Kommo' })
    await dialog.getByRole('button', { name: 'Add webhook' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'Give the address of the CRM' }).waitFor()
    await dialog.getByRole('alert').filter({ hasText: 'Long-lived token is missing.' }).waitFor()
    expect(crm.requests).toHaveLength(0)
    await examine('missing')
  })

  test('a wrong key is refused in the words of the CRM, with what to do', async () => {
    const { page } = seen
    await page.getByRole('textbox', { name: 'Address' }).fill(crm.url)
    await page.getByLabel('Long-lived token').fill('wrong-token')
    await page.getByRole('button', { name: 'Check' }).click()
    const said = page.getByText(/The CRM answered 401: Unauthorized\. The key is wrong.*make a new one\./)
    await said.waitFor()
    await examine('refused')
    expect(await page.getByRole('dialog').textContent()).not.toContain('wrong-token')
  })

  test('the right key is accepted, the users are read, and a call is previewed', async () => {
    const { page } = seen
    await page.getByLabel('Long-lived token').fill(KEY)
    expect(await page.getByText('The CRM answered 401').count()).toBe(0)
    await page.getByRole('button', { name: 'Check' }).click()
    await page.getByText('The CRM accepts the key.').waitFor()
    await page.getByLabel('Responsible user').fill('504150')
    await page.getByRole('button', { name: 'Fill in from the CRM' }).click()
    const user = page.getByLabel('User 1', { exact: true })
    await user.waitFor()
    expect([await user.inputValue(), await user.locator('option:checked').textContent()]).toEqual([
      '504141',
      'Anna Smith',
    ])
    const extension = page.getByLabel('Extension 1', { exact: true })
    const offered = async () =>
      await page
        .locator('datalist#extensions option')
        .evaluateAll((options) => options.map((option) => [option.getAttribute('value'), option.textContent]))
    const [desk, ...others] = [
      ['101', 'Hotel desk, not registered; Anna Smith'],
      ['204', 'unreachable'],
      ['102', 'Ben Fox'],
    ]
    expect(await offered()).toEqual([desk, ...others])
    await extension.fill('999')
    await page.getByText('no known phone').waitFor()
    await examine('unknown')
    await extension.fill('101')
    await page.getByText('Hotel desk, not registered; Anna Smith').waitFor()
    expect(await offered()).toEqual(others)
    // One that the CRM does not list, which was entered before, stays.
    expect(await page.getByLabel('Responsible user').inputValue()).toBe('504150')
    await until('a call has ended', async () => {
      const { body } = await ask(app, 'GET', '/call', { token })
      return (body.result as { items: unknown[] }).items.length > 0
    })
    await page.getByText('What a call would cause').click()
    await page.getByRole('button', { name: 'Show its requests' }).click()
    await page.getByText('Nothing is sent. The answers are examples').waitFor()
    expect(await page.getByRole('dialog').textContent()).toContain(`POST ${crm.url}/api/v4/calls`)
    expect(await page.getByRole('dialog').textContent()).not.toContain(KEY)
    expect(crm.calls()).toEqual([])
    await page.getByText('Nothing is sent. The answers are examples').scrollIntoViewIfNeeded()
    await examine('filled')
  })

  test('it is saved with its key, which is never read back', async () => {
    const { page } = seen
    await page.getByLabel('Look callers up in this CRM').check()
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await closed()
    await rowOf(crm.url).getByRole('link', { name: 'amoCRM, Kommo' }).waitFor()
    expect(await optionsOf(crm.url)).toMatchObject({
      flow: { preset: 'amocrm', parameters: { token: null, responsible: '504150', users: { '101': '504141' } } },
    })
    const listed = (await ask(app, 'GET', '/integration/webhook', { token })).body.result
    expect(listed).toEqual([webhook(OTHER), expect.objectContaining({ url: crm.url, call_saved: true })])
    expect((await ask(app, 'GET', '/integration/contacts', { token })).body.result).toMatchObject({ preset: 'amocrm' })
    await examine('list')
  })

  test('it is opened again beside a change that is not saved: an empty secret keeps the stored one', async () => {
    const { page } = seen
    const drawer = await openDrawer(crm.url)
    const changed = drawer.getByRole('checkbox', { name: /^saved/ })
    await changed.uncheck()
    await drawer.getByText('It sends what amocrm needs').waitFor()
    await drawer.getByRole('button', { name: 'Change', exact: true }).click()
    const key = page.getByLabel('Long-lived token')
    await key.waitFor()
    expect([await key.inputValue(), await key.getAttribute('placeholder')]).toEqual(['', 'stored'])
    expect(await page.getByLabel('Look callers up in this CRM').isChecked()).toBe(true)
    await examine('stored')
    await page.getByRole('button', { name: 'Add an extension' }).click()
    await page.getByLabel('Extension 2').fill('102')
    await page.getByLabel('User 2').fill('504142')
    await page.getByLabel('Look callers up in this CRM').uncheck()
    const asked = crm.requests.length
    await crmForm().getByRole('button', { name: 'Save', exact: true }).click()
    await crmForm().waitFor({ state: 'detached' })
    // The stored key was tried, since it had never been checked.
    expect(crm.requests.slice(asked).map(({ headers }) => headers.get('authorization'))).toEqual([`Bearer ${KEY}`])
    expect(await optionsOf(crm.url)).toMatchObject({
      flow: { parameters: { token: null, users: { '101': '504141', '102': '504142' } } },
    })
    expect((await ask(app, 'GET', '/integration/contacts', { token })).body.result).toBeNull()
    // The drawer below is neither saved nor closed with it, and keeps what was changed in it.
    expect(await changed.isChecked()).toBe(false)
    const listed = async () => (await ask(app, 'GET', '/integration/webhook', { token })).body.result
    expect(await listed()).toEqual([webhook(OTHER), expect.objectContaining({ url: crm.url, call_saved: true })])
    // Saved, too, it keeps what was saved in the form of the CRM, and asks nothing.
    await drawer.getByRole('button', { name: 'Save', exact: true }).click()
    await closed()
    expect(await listed()).toEqual([webhook(OTHER), expect.objectContaining({ url: crm.url, call_saved: false })])
    expect(await optionsOf(crm.url)).toMatchObject({
      flow: { parameters: { users: { '101': '504141', '102': '504142' } } },
    })
  })

  test('callers are looked up at a URL of one’s own, which is tried with a number', async () => {
    const { page } = seen
    await page.getByRole('button', { name: 'Look up callers' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('radio', { name: 'A URL of your own' }).check({ force: true })
    await dialog.getByLabel('URL', { exact: true }).fill(`${crm.url}/api/v4/contacts?query={{ number }}`)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('alert').filter({ hasText: 'Give the pointer of at least one field.' }).waitFor()
    await dialog.getByLabel('Name', { exact: true }).fill('/name')
    await dialog.getByLabel('Where the answer has the contact').fill('/_embedded/contacts/0')
    await dialog.getByRole('button', { name: 'Add a header' }).click()
    await dialog.getByLabel('Name of header 1').fill('authorization')
    await dialog.getByLabel('Value of header 1').fill(`Bearer ${KEY}`)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByLabel('Try a number').fill('+4930123456')
    expect((await ask(app, 'GET', '/integration/contacts', { token })).body.result).toMatchObject({
      url: `${crm.url}/api/v4/contacts?query={{ number }}`,
      headers: { authorization: null },
      item: '/_embedded/contacts/0',
      fields: { name: '/name' },
    })
    // A loaded machine may not answer within the budget: the answer is cached then.
    const looked = crm.requests.length
    await dialog.getByRole('button', { name: 'Look up' }).click()
    await until('the number is looked up', () => crm.requests.length > looked)
    const found = dialog.getByText('Maria Bern')
    await until('its contact is shown', async () => {
      if ((await found.count()) > 0) return true
      const button = dialog.getByRole('button', { name: 'Look up' })
      if (await button.isEnabled()) await button.click()
      return false
    })
    await examine('contacts')
    await dialog.getByRole('radio', { name: 'Nowhere' }).check({ force: true })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await ask(app, 'GET', '/integration/contacts', { token })).body.result).toBeNull()
  })

  test('an address that is in the list already is refused at its field, and nothing is lost', async () => {
    const { page } = seen
    const drawer = await addCrm()
    await drawer.getByLabel('CRM', { exact: true }).selectOption({ label: 'Any system: one request for each call' })
    await drawer.getByLabel('Address', { exact: true }).fill(OTHER)
    expect(await drawer.getByRole('button', { name: 'Check', exact: true }).count()).toBe(0)
    await drawer.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByRole('alert').filter({ hasText: 'is in the list already' }).waitFor()
    await page.keyboard.press('Escape')
    await closed()
    expect(await optionsOf(OTHER)).toMatchObject({ flow: null })
  })

  test('own steps are shown unchanged, with a link to the guide', async () => {
    const { page } = seen
    const flow = { steps: [{ name: 'note', on: ['call_ended'], url: '/notes', headers: { 'x-key': 'hidden-value' } }] }
    const { status } = await ask(app, 'PUT', '/integration/webhook/options', { token, body: { url: OTHER, flow } })
    expect(status).toBe(200)
    await page.reload()
    const drawer = await openDrawer(OTHER)
    await drawer.getByRole('button', { name: 'Show the steps' }).click()
    const text = page.getByRole('region', { name: 'the steps' })
    await text.waitFor()
    expect(await text.textContent()).toContain('"/notes"')
    expect(await text.textContent()).not.toContain('hidden-value')
    expect(await page.getByRole('link', { name: 'the guide' }).getAttribute('href')).toBe('/help#/flows')
    await examine('steps')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog', { name: 'Requests of its own' }).waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await closed()
  })

  test('a token whose renewal is refused shows in the drawer and in the form', async () => {
    const { page } = seen
    const options = await optionsOf(crm.url)
    await page.route('**/integration/webhook/options', (route) =>
      route.fulfill({
        json: {
          status: 'success',
          code: 200,
          result: [{ ...options, problem: { since: '2026-01-02T03:04:05Z', message: 'invalid_grant: revoked' } }],
          message: '',
        },
      }),
    )
    await page.reload()
    const drawer = await openDrawer(crm.url)
    await drawer.getByRole('alert').filter({ hasText: 'invalid_grant: revoked' }).waitFor()
    await drawer.getByRole('button', { name: 'Change', exact: true }).click()
    await crmForm().getByText('The CRM refuses its authorization: invalid_grant: revoked').waitFor()
    await examine('problem')
    // A click waits for frames of the browser, which come late after changes of size on a loaded machine; a key does not.
    await page.keyboard.press('Escape')
    await crmForm().waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    await closed()
    await page.unroute('**/integration/webhook/options')
  })

  test('the page made no fault and asked no other origin', async () => {
    await until('the requests of the page are known', () => seen.asked.length > 0)
    expect(seen.faults).toEqual([])
    expect(seen.asked.filter((url) => !url.startsWith(app.url) && !url.startsWith('data:'))).toEqual([])
  })
})
