import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { addUser, PASSWORD } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

/** `SCREENSHOTS=folder` also writes a picture of each view there. */
const SCREENSHOTS = process.env.SCREENSHOTS
const WIDTHS = [1_280, 390, 320]

describe.skipIf(CHROMIUM === undefined)('a PBX is connected in a browser (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let browser: Browser
  let seen: Visit
  let receiver: ReturnType<typeof startReceiver>
  const { promise: called, resolve: call } = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('h-ring-group.ami')], after: called })
  let secret = ''

  beforeAll(async () => {
    folder = emptyFolder()
    receiver = startReceiver()
    app = await startServe({ cwd: folder.path, args: ['--allow-net', 'loopback'] })
    const add = 'user add --admin --email ada@example.com --name Ada'
    await run(add.split(' '), { cwd: folder.path, stdin: PASSWORD })
    browser = await browserOfRun()
    seen = await visit(browser, { viewport: { width: 1_280, height: 800 }, colorScheme: 'light' })
  })
  afterAll(async () => {
    call()
    await seen?.page.context().close()
    await app?.stop()
    await replay.stop()
    receiver?.stop()
    folder?.[Symbol.dispose]()
  })

  /** Checks a view at all widths: nothing sticks out sideways, and axe finds nothing. */
  async function proveFits(name: string, { page }: Visit = seen) {
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 })
      expect([name, width, await overflowOf(page)]).toEqual([name, width, 0])
      expect([name, width, await accessibilityFaults(page)]).toEqual([name, width, []])
      if (SCREENSHOTS !== undefined)
        await page.screenshot({ path: `${SCREENSHOTS}/${name}-${width}.png`, fullPage: true })
    }
    await page.setViewportSize({ width: 1_280, height: 800 })
  }

  async function logIn({ page }: Visit, email: string) {
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  test('the first screen of an administrator says what to do, and leads to each kind of PBX', async () => {
    const { page } = seen
    await logIn(seen, 'ada@example.com')
    await page.getByRole('heading', { name: 'Welcome, Ada' }).waitFor()
    for (const step of ['Connect a PBX', 'Make a call', 'Tell others of it'])
      await page.getByRole('heading', { name: step, exact: true }).waitFor()
    await proveFits('first-run')
    await page.getByRole('link', { name: /^Asterisk/ }).click()
    await page.getByRole('heading', { name: 'Connect a PBX', level: 1 }).waitFor()
    expect(await page.getByRole('radio', { name: /^Asterisk/ }).isChecked()).toBe(true)
  })

  test('it shows how to connect it, with a secret that is made for the PBX', async () => {
    const { page } = seen
    await page.getByText('User, secret, TLS, account').last().click()
    secret = await page.getByLabel('Secret', { exact: true }).inputValue()
    expect(secret).toMatch(/^[0-9a-f]{36}$/)
    await page.getByText(`secret = ${secret}`).waitFor()
    await proveFits('connect')
    await page.getByText('FreePBX, Issabel', { exact: true }).click()
    await page.getByText('/etc/asterisk/manager_custom.conf').waitFor()
    await page.getByText(`secret = ${secret}`).waitFor()
    await proveFits('connect-freepbx')
    await page.getByText('FreeSWITCH', { exact: true }).click()
    await page.getByText(`name="password" value="${secret}"`).waitFor()
    await proveFits('connect-freeswitch')
    await page.getByText('FusionPBX', { exact: true }).click()
    await page.getByText('Do not change it here').waitFor()
    expect(await page.getByLabel('Password', { exact: true }).inputValue()).toBe('')
    await proveFits('connect-fusionpbx')
    await page.getByText('Asterisk', { exact: true }).click()
  })

  test('the check shows missing rights, and nothing is stored', async () => {
    const { page } = seen
    await page.getByLabel('Port', { exact: true }).fill('1')
    await page.getByLabel('Port', { exact: true }).press('Enter')
    await page.getByText('Problem:').waitFor()
    await page.getByText('is Asterisk running there').waitFor()
    await proveFits('report')
    await page.getByText('FreePBX, Issabel', { exact: true }).click()
    await page.getByText('Problem:').waitFor({ state: 'detached' })
    expect(await page.getByLabel('Port', { exact: true }).inputValue()).toBe('')
    await page.getByRole('link', { name: 'PBXs', exact: true }).click()
    await page.getByText('There is no PBX yet').waitFor()
    await page.goBack()
  })

  test('with the keyboard alone it is connected, and its first call is shown as it happens', async () => {
    const { page } = seen
    await page.getByLabel('Host', { exact: true }).waitFor()
    secret = await page.getByLabel('Secret', { exact: true }).inputValue()
    await page.getByRole('radio', { name: /^Asterisk/ }).focus()
    // The place of the service, and then the fields.
    await page.keyboard.press('Tab')
    for (const name of ['name', 'host', 'port']) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe(name)
    }
    await page.keyboard.type(String(replay.port))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'office is connected' }).waitFor()
    await page.getByRole('heading', { name: 'Make a call' }).waitFor()
    // The button that was pressed is gone; the keyboard goes on at what came of it, which stays to be read.
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('office is connected')
    await page.getByText('the user hookswitch may log in').waitFor({ state: 'attached' })
    await proveFits('connected')
    call()
    await page.getByRole('table', { name: 'Calls now' }).getByRole('link').first().waitFor()
    await proveFits('first-call')
  })

  test('the list has its state and not its secret', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'All PBXs' }).click()
    const row = page.getByRole('table', { name: 'PBXs' }).getByRole('row').filter({ hasText: 'office' })
    await row.getByText('connected', { exact: true }).waitFor()
    await proveFits('list')
    expect(await page.content()).not.toContain(secret)
  })

  test('a second one is proposed another name, and cannot take the place of the first', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Connect a PBX' }).click()
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('[name=name]')?.value === 'office-2')
    await page.getByLabel('Name', { exact: true }).fill('office')
    await page.getByRole('button', { name: 'Check and connect' }).click()
    await page.getByRole('alert').filter({ hasText: 'There is a PBX office already' }).waitFor()
    await page.getByRole('link', { name: 'PBXs', exact: true }).click()
  })

  test('what is missing in a part that is folded away is shown', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Connect a PBX' }).click()
    const fold = page.getByText('User, secret, TLS, account', { exact: true }).last()
    await fold.click()
    await page.getByLabel('User', { exact: true }).fill('')
    await fold.click()
    await page.getByLabel('User', { exact: true }).waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Check and connect' }).click()
    await page.waitForFunction(() => document.activeElement?.getAttribute('name') === 'user')
    await page.getByRole('link', { name: 'PBXs', exact: true }).click()
  })

  test('it is changed without its secret', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'office', exact: true }).click()
    expect(await page.getByLabel('Secret', { exact: true }).inputValue()).toBe('***')
    await page.getByText('User, secret, TLS, account').last().click()
    await page.getByLabel('Parameters').fill('country=XX')
    await page.getByRole('button', { name: 'Check and save' }).click()
    await page.getByRole('alert').filter({ hasText: 'unknown country XX' }).waitFor()
    await proveFits('change')
    await page.getByLabel('Parameters').fill('country=UZ')
    await page.getByRole('button', { name: 'Check and save' }).click()
    await page.getByText('office is changed').waitFor()
    const { stdout } = await run(['pbx', 'list'], { cwd: folder.path })
    expect(stdout).toContain(`hookswitch:***@127.0.0.1:${replay.port}?name=office&country=UZ`)
  })

  test('a user who is no administrator sees what to ask for', async () => {
    await addUser(folder.path, 'ben@example.com', 'acme')
    const other = await visit(browser, { viewport: { width: 1_280, height: 800 } })
    await logIn(other, 'ben@example.com')
    await other.page.getByRole('heading', { name: 'Live', level: 1 }).waitFor()
    await other.page.getByText('Ask the operator of this service').waitFor()
    expect(await other.page.getByRole('link', { name: 'PBXs', exact: true }).count()).toBe(0)
    await proveFits('ask', other)
    await addUser(folder.path, 'cleo@example.com', 'default')
    const third = await visit(browser, { viewport: { width: 1_280, height: 800 } })
    await logIn(third, 'cleo@example.com')
    await third.page.locator('.shell[data-connection=up]').waitFor()
    await third.page.goto(`${app.url}/#/pbxs`)
    await third.page.getByText('Only administrators connect and change PBXs').waitFor()
    await third.page.getByText('Your account has office').waitFor()
    await third.page.context().close()
    expect(other.faults).toEqual([])
    await other.page.context().close()
  })

  test('it is removed after a question', async () => {
    const { page } = seen
    await page.getByRole('button', { name: 'More for office' }).click()
    await page.getByRole('menuitem', { name: 'Remove…' }).click()
    await page.getByRole('dialog').waitFor()
    await proveFits('remove')
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('There is no PBX yet').waitFor()
    await until('it is disconnected', () => replay.clients() === 0)
    expect(seen.faults).toEqual([])
    expect(app.output()).not.toContain(secret)
  })
})
