import { expect, test } from 'bun:test'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'

// The audit trail as administrators see it; other users have no way to it.

const ADMIN = 'admin@example.com'
const USER = 'a-rather-long-address-of-somebody@customer.example.com'

test.skipIf(CHROMIUM === undefined)('the audit trail is on the page of an administrator (needs chromium)', async () => {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path })
  await addUser(folder.path, ADMIN)
  await run(['user', 'type', 'admin', '--email', ADMIN], { cwd: folder.path })
  await addUser(folder.path, USER, 'acme')
  const token = await logIn(app, USER)
  const list = [webhook('https://crm.example.com/calls/t0ken'), webhook('https://hooks.example.com/')]
  await ask(app, 'PUT', '/integration/webhook', { token, body: list })

  const seen = await visit(await browserOfRun(), { viewport: { width: 1_280, height: 850 } })
  const { page } = seen
  const enter = async (email: string) => {
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('link', { name: 'Webhooks' }).waitFor()
    // The first run, without a PBX, does not lead away from another view.
    await page.getByRole('button', { name: /account / }).click()
    await page.getByRole('menuitem', { name: 'Password and sessions' }).click()
    await page.getByRole('heading', { name: 'Your account' }).waitFor()
    expect(new URL(page.url()).hash).toBe('#/account')
  }
  await enter(ADMIN)
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('group', { name: 'What is shown' }).getByText('Audit trail').click()
  expect(new URL(page.url()).hash).toBe('#/people/audit')
  const row = page.getByRole('row').filter({ hasText: 'the list of webhooks was replaced' })
  await row.waitFor()
  const text = (await row.textContent()) ?? ''
  for (const part of [USER, 'acme', 'added: https://crm.example.com/calls/…, https://hooks.example.com/'])
    expect(text).toContain(part)
  expect(text).not.toContain('t0ken')
  for (const width of [390, 1_280]) {
    await page.setViewportSize({ width, height: 850 })
    expect(await accessibilityFaults(page)).toEqual([])
    expect(await overflowOf(page)).toBe(0)
    if (process.env.HOOKSWITCH_TEST_SHOTS !== undefined)
      await page.screenshot({ path: `${process.env.HOOKSWITCH_TEST_SHOTS}/audit-${width}.png` })
  }
  // A row is cut where it is too long: the whole entry opens.
  await row.getByRole('button').click()
  const entry = page.getByRole('dialog', { name: 'the list of webhooks was replaced' })
  await entry.getByText('https://crm.example.com/calls/…, https://hooks.example.com/', { exact: true }).waitFor()
  expect(await entry.textContent()).not.toContain('t0ken')
  expect(await accessibilityFaults(page)).toEqual([])
  await page.keyboard.press('Escape')
  await entry.waitFor({ state: 'detached' })

  await page.evaluate(() => sessionStorage.clear())
  await enter(USER)
  expect(await page.getByRole('link', { name: 'People' }).count()).toBe(0)
  await page.goto(`${app.url}/#/people/audit`)
  await page.getByText('Only administrators see the people').waitFor()
  expect(await page.getByRole('table').count()).toBe(0)
  expect(seen.faults).toEqual([])
  await page.context().close()
  await app.stop()
})
