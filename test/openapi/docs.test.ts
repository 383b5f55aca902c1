import { afterAll, beforeAll, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../help/app.ts'
import { CHROMIUM, openBrowser, visit } from '../help/browser.ts'
import { addUser, PASSWORD } from '../help/client.ts'

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

test.skipIf(CHROMIUM === undefined)(
  'in a browser, /docs logs in and tries a request, and asks no other host for anything (needs chromium)',
  async () => {
    const browser = await openBrowser()
    const { page, asked, faults } = await visit(browser)
    const tried = async (operation: string, body?: object) => {
      const block = page.locator(`[id$="${operation}"]`).first()
      await block.locator('.opblock-summary-control').first().click()
      if (body !== undefined) await block.locator('textarea').first().fill(JSON.stringify(body))
      await block.locator('.execute').click()
      return (await block.locator('.live-responses-table').first().textContent()) ?? ''
    }
    await page.goto(`${app.url}/docs`)
    const answer = await tried('postAuthLogin', { email: 'docs@example.com', password: PASSWORD })
    const token = /hks_[\w-]{43}/.exec(answer)?.[0] ?? ''
    await page.locator('.btn.authorize').first().click()
    await page.locator('.auth-container input').first().fill(token)
    await page.locator('.auth-btn-wrapper .authorize').first().click()
    await page.locator('.btn-done').first().click()
    expect(await tried('getAuthMe')).toContain('docs@example.com')
    expect(asked.filter((address) => !address.startsWith(`${app.url}/`))).toEqual([])
    expect(faults).toEqual([])
    await browser.close()
  },
)
