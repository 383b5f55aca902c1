import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, visit } from '../../help/browser.ts'
import { addUser, PASSWORD } from '../../help/client.ts'

const folder = emptyFolder()
let app: RunningApp

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  await addUser(folder.path, 'docs@example.com')
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

/** Opens "Try it" of an operation, fills in the fields, sends, and returns the text of the response. */
async function tried(page: Page, operation: string, fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const section = page.locator(`section[id="${operation}"]`)
  const form = section.locator('form.doc-try')
  if (!(await form.isVisible())) await section.getByText('Try it', { exact: true }).click()
  for (const [label, value] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(value)
  const answered = page.waitForResponse(() => true)
  await form.getByRole('button', { name: /^Send/ }).click()
  await answered
  // The button is as it was as soon as the response is shown.
  await form.getByRole('button', { name: /^Send / }).waitFor()
  return (await form.locator('[role="status"]').locator('section').textContent()) ?? ''
}

/**
 * Parts of the page with every kind of element. The page is long: the whole of it is checked in each theme and at each width, but not in
 * each theme at each width.
 */
const PARTS = ['header', 'nav', 'section[id="putIntegrationWebhookOptions"]', 'section[id="schema-WebhookOptions"]']

describe.skipIf(CHROMIUM === undefined)('in a browser, /docs', () => {
  test('logs in and tries requests, and asks no other host for anything (needs chromium)', async () => {
    const browser = await browserOfRun()
    const { page, asked, faults } = await visit(browser)
    await page.goto(`${app.url}/docs`)
    expect(await tried(page, 'getAuthMe')).toContain('"code": 401')
    await page.getByLabel('E-mail', { exact: true }).fill('docs@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('You are logged in').waitFor()
    expect(await tried(page, 'getAuthMe')).toContain('docs@example.com')
    const list = await tried(page, 'putIntegrationWebhook')
    expect(list).toContain('https://crm.example.com/calls')
    expect(await tried(page, 'getEvent', { 'limit (optional)': '5' })).toContain('next_cursor')
    expect(asked.filter((address) => !address.startsWith(`${app.url}/`))).toEqual([])
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('searches, opens the part that the address names, and is accessible in light and dark (needs chromium)', async () => {
    const browser = await browserOfRun()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [1_280, 390]) {
        const { page, faults: pageFaults } = await visit(browser, { colorScheme, viewport: { width, height: 800 } })
        await page.goto(`${app.url}/docs#schema-WebhookOptions`)
        await page.locator('section[id="schema-WebhookOptions"]').waitFor()
        expect(await overflowOf(page)).toBe(0)
        await page.getByLabel('Search').fill('retry')
        const entries = page.locator('nav[aria-label="Contents"] li')
        expect(await entries.allTextContents()).toEqual([
          'POST/integration/delivery/{id}/retry',
          'POST/integration/delivery/retry',
        ])
        await page.locator('section[id="putIntegrationWebhookOptions"]').getByText('Try it', { exact: true }).click()
        const isWhole = (colorScheme === 'light') === width > 400
        const faults = await accessibilityFaults(page, isWhole ? ['html'] : PARTS)
        expect([colorScheme, width, faults]).toEqual([colorScheme, width, []])
        expect(pageFaults).toEqual([])
        await page.context().close()
      }
  })

  test.each(['events', 'bodies'])('/docs/%s is accessible without scripts (needs chromium)', async (name) => {
    const browser = await browserOfRun()
    const { page, faults } = await visit(browser)
    await page.goto(`${app.url}/docs/${name}`)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(faults).toEqual([])
    await page.context().close()
  })
})
