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
  const enter = async (email: string, asked?: Promise<unknown>) => {
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await asked
    await page.getByRole('link', { name: 'Account', exact: true }).click()
    await page.getByRole('heading', { name: 'Profile' }).waitFor()
  }
  // The first view of an administrator without a PBX asks for PBXs, to lead to the first one: not away from another view.
  const held = Promise.withResolvers<void>()
  await page.route(`${app.url}/pbx`, async (route) => {
    await held.promise
    await route.continue()
  })
  const answered = page.waitForResponse(`${app.url}/pbx`)
  await enter(ADMIN, page.waitForRequest(`${app.url}/pbx`))
  held.resolve()
  await (await answered).finished()
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
  expect(new URL(page.url()).hash).toBe('#/account')
  await page.getByRole('link', { name: 'Audit trail' }).click()
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
  await page.evaluate(() => sessionStorage.clear())
  await enter(USER)
  expect(await page.getByRole('link', { name: 'Audit trail' }).count()).toBe(0)
  expect(seen.faults).toEqual([])
  await page.context().close()
  await app.stop()
})
