import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { browserOfRun, CHROMIUM, type Visit, visit } from '../../help/browser.ts'
import { ask, newToken, PASSWORD, webhook } from '../../help/client.ts'

const URL = 'mqtts://node:broker-passw0rd@broker.example/calls/{event}'
const SHOWN = 'mqtts://broker.example/calls/{event}'
const SECRET = 'broker-passw0rd'

describe.skipIf(CHROMIUM === undefined)("the password in a broker's URL (needs chromium)", () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  beforeAll(async () => {
    folder = emptyFolder()
    app = await startServe({ cwd: folder.path })
    const token = await newToken(app, 'ada@example.com')
    const put = await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(URL)] })
    expect(put.status).toBe(200)
    seen = await visit(await browserOfRun())
    const { page } = seen
    await page.goto(`${app.url}/#/webhooks`)
    await page.getByLabel('E-mail').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await row().waitFor()
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    folder?.[Symbol.dispose]()
  })

  /** All that the page has: its elements with their attributes, and what stands in its fields. */
  const content = async () => {
    const { page } = seen
    const fields = await page.locator('input, textarea').all()
    return [await page.content(), ...(await Promise.all(fields.map((field) => field.inputValue())))].join('\n')
  }
  const row = () =>
    seen.page.getByRole('table', { name: 'Webhooks' }).getByRole('row').filter({ hasText: 'broker.example' })
  const field = () => seen.page.getByRole('dialog').getByLabel('Address', { exact: true })

  test('stands in no element of the list and no field of the drawer, only in the field that is edited', async () => {
    expect(await content()).not.toContain(SECRET)
    await row().click()
    await field().waitFor()
    expect(seen.page.url()).not.toContain(SECRET)
    expect(await field().inputValue()).toBe(SHOWN)
    expect(await content()).not.toContain(SECRET)
    await field().focus()
    expect(await field().inputValue()).toBe(URL)
    await field().blur()
    expect(await field().inputValue()).toBe(SHOWN)
    expect(await content()).not.toContain(SECRET)
  })

  test('leaves no mark in an address that is shown, and the drawer says that there is one', async () => {
    expect(await row().textContent()).toContain(SHOWN)
    const titles = await seen.page.locator('[title]').evaluateAll((all) => all.map((one) => one.getAttribute('title')))
    expect([...titles, await seen.page.locator('body').textContent()].join('\n')).not.toContain('***')
    await seen.page.getByText('Its user and password are shown while it is edited.').waitFor()
  })

  test('is never typed into while it is hidden, and a new URL takes its place as a whole', async () => {
    const input = field()
    expect(await input.getAttribute('readonly')).not.toBeNull()
    await input.focus()
    expect(await input.getAttribute('readonly')).toBeNull()
    const next = URL.replace(SECRET, 'another-passw0rd')
    await input.fill(next)
    expect(await input.inputValue()).toBe(next)
    await input.blur()
    expect(await input.inputValue()).toBe(SHOWN)
    expect(await content()).not.toContain('another-passw0rd')
  })
})
