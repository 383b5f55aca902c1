import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { PASSWORD } from '../../help/client.ts'

const ADMIN = { email: 'ada@example.com', password: PASSWORD }
const COLLEAGUE = { email: 'ben@example.com', password: 'first one of mine' }

describe.skipIf(CHROMIUM === undefined)('people on the page, in a browser (needs chromium)', () => {
  const folder = emptyFolder()
  let app: RunningApp
  let admin: Visit
  let colleague: Visit
  let link: string

  beforeAll(async () => {
    const { email, password } = ADMIN
    const env = { HOOKSWITCH_USER_EMAIL: email, HOOKSWITCH_USER_PASSWORD: password }
    app = await startServe({ cwd: folder.path, env: { ...env, PATH: process.env.PATH ?? '' } })
    const browser = await browserOfRun()
    admin = await visit(browser, { viewport: { width: 1_280, height: 800 } })
    colleague = await visit(browser, { viewport: { width: 390, height: 800 } })
  })
  afterAll(async () => {
    for (const one of [admin, colleague]) await one?.page.context().close()
    await app?.stop()
    folder[Symbol.dispose]()
  })

  async function logIn(page: Page, { email, password }: typeof ADMIN): Promise<void> {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
  }
  async function logOut(page: Page): Promise<void> {
    await page.goto(`${app.url}/#/more`)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
  }
  const isIn = (page: Page) =>
    page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'More' }).waitFor()
  const row = () => admin.page.getByRole('row').filter({ hasText: COLLEAGUE.email })
  async function choose(action: string): Promise<void> {
    await row()
      .getByRole('button', { name: /^More for/ })
      .click()
    await admin.page.getByRole('menuitem', { name: action }).click()
  }
  async function linkShown(): Promise<string> {
    const drawer = admin.page.getByRole('dialog', { name: 'A link for Ben Borg' })
    const text = await drawer.getByText(/#welcome=/).textContent()
    expect(await accessibilityFaults(admin.page)).toEqual([])
    await admin.page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'detached' })
    return text ?? ''
  }
  async function choosePassword(password: string): Promise<void> {
    const { page } = colleague
    await page.goto('about:blank')
    await page.goto(link)
    await page.getByRole('heading', { name: 'Welcome to Hookswitch' }).waitFor()
    expect(page.url()).not.toContain('welcome')
    expect(await accessibilityFaults(page)).toEqual([])
    expect(await overflowOf(page)).toBe(0)
    await page.getByLabel('New password', { exact: true }).fill(password)
    await page.getByLabel('New password again').fill(password)
    await page.getByRole('button', { name: 'Save and log in' }).click()
  }

  test('an administrator invites a colleague, and gets a link', async () => {
    const { page } = admin
    await page.goto(app.url)
    await logIn(page, ADMIN)
    await page.getByRole('link', { name: 'People' }).click()
    await page.getByRole('button', { name: 'Add a person' }).click()
    const drawer = page.getByRole('dialog', { name: 'Add a person' })
    await drawer.getByLabel('Name').fill('Ben Borg')
    await drawer.getByLabel('E-mail').fill(ADMIN.email)
    await drawer.getByRole('button', { name: 'Add', exact: true }).click()
    await drawer.getByRole('alert').first().waitFor()
    await drawer.getByLabel('E-mail').fill(COLLEAGUE.email)
    await drawer.getByRole('button', { name: 'Add', exact: true }).click()
    link = await linkShown()
    expect(link).toStartWith(`${app.url}/#welcome=`)
    await row()
      .getByText(/^invited until/)
      .waitFor()
  })

  test('the colleague chooses a password with it, once, and logs in with that later', async () => {
    const { page } = colleague
    await choosePassword(COLLEAGUE.password)
    await isIn(page)
    await page.goto('about:blank')
    await logOut(page)
    await logIn(page, COLLEAGUE)
    await isIn(page)
    await choosePassword('another password')
    await page.getByText('The link is wrong, was used, or has expired. Ask for a new one.').waitFor()
  })

  test('who has lost the password is told what to do, and gets another link', async () => {
    const { page } = colleague
    await page.goto('about:blank')
    await logOut(page)
    await logIn(page, { ...COLLEAGUE, password: 'forgotten' })
    await page.getByText('The e-mail address or the password is wrong.').waitFor()
    await page.getByText(/lost password\? An administrator makes a link/).waitFor()
    await choose('Link for a new password')
    link = await linkShown()
    await choosePassword('a second password')
    await isIn(page)
  })

  test('a colleague who leaves is logged out everywhere, and cannot log in', async () => {
    const { page } = colleague
    await choose('Remove…')
    const confirm = admin.page.getByRole('dialog')
    await confirm.getByRole('button', { name: /Remove/ }).click()
    await row().waitFor({ state: 'detached' })
    await page.getByText('Your session has ended. Please log in again.').waitFor()
    await logIn(page, { ...COLLEAGUE, password: 'a second password' })
    await page.getByText('The e-mail address or the password is wrong.').waitFor()
    await choosePassword('a third password')
    await page.getByText('The link is wrong, was used, or has expired').waitFor()
    expect([...admin.faults, ...colleague.faults]).toEqual([])
  })
})
