import type { Page } from 'playwright-core'
import { nowUs } from '../../src/lib/time.ts'
import { buildOnce, emptyFolder, startServe } from '../help/app.ts'
import { CHROMIUM, openBrowser, visit } from '../help/browser.ts'
import { ask, newToken, PASSWORD, webhook } from '../help/client.ts'
import { openStore } from '../help/store.ts'
import { fillStore } from './stalls-store.ts'
import { atMost, figure, type Row } from './table.ts'

const EMAIL = 'bench@example.com'
const TIMES = 5
const SLOW = { latency: 600, downloadThroughput: 50_000, uploadThroughput: 50_000, offline: false }
const ROW = '.table tbody tr:not(.bones, .day)'

/** What a reader waits for: full lists after their answer, and the log-in form over a slow line. */
export async function benchPage(): Promise<Row[]> {
  if (CHROMIUM === undefined) throw new Error('Chromium is missing: apt-get install chromium')
  await buildOnce()
  await using cleaning = new AsyncDisposableStack()
  const folder = cleaning.use(emptyFolder())
  const args = ['--allow-net', 'loopback', '--log-level', 'error']
  const first = await startServe({ cwd: folder.path, args })
  const token = await newToken(first, EMAIL)
  const urls = Array.from({ length: 100 }, (_, at) => `http://127.0.0.1:9/hooks/${at}`)
  await ask(first, 'PUT', '/integration/webhook', { token, body: urls.map((url) => webhook(url)) })
  await first.stop()
  const store = openStore(`${folder.path}/data/hookswitch.db`)
  await fillStore(store, 200, nowUs())
  await store.stop()
  const app = await startServe({ cwd: folder.path, args })
  cleaning.defer(async () => void (await app.stop()))
  const browser = await openBrowser()
  cleaning.defer(() => browser.close())
  const { page, asked } = await visit(browser, { viewport: { width: 1_280, height: 800 } })
  const slow = await page.context().newCDPSession(page)
  await slow.send('Network.emulateNetworkConditions', SLOW)
  const beganMs = performance.now()
  await page.goto(app.url)
  await page.getByLabel('E-mail').waitFor()
  const formMs = performance.now() - beganMs
  const requests = asked.length
  await slow.send('Network.emulateNetworkConditions', {
    ...SLOW,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  })
  await page.getByLabel('E-mail').fill(EMAIL)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('.shell[data-connection=up]').waitFor()
  return [
    atMost('log-in form at 600 ms and 50 kB/s', 4.7, formMs / 1_000, ' s', `${requests} requests`),
    figure('100 webhooks shown, from the click', await shortest(() => shownMs(page, 'webhooks', null)), ' ms'),
    atMost(
      '50 calls shown after their answer',
      150,
      await shortest(() => shownMs(page, 'calls?range=dates', '/call?')),
      ' ms',
    ),
  ]
}

async function shortest(measure: () => Promise<number>): Promise<number> {
  const found: number[] = []
  for (let time = 0; time < TIMES; time += 1) found.push(await measure())
  return Math.min(...found)
}

/** Returns the time from the answer for a list (without one: from the click) until a row was painted, by the browser's clock. */
async function shownMs(page: Page, view: string, path: string | null): Promise<number> {
  await page.evaluate(() => {
    location.hash = '#/account'
  })
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  return await page.evaluate(
    ([hash, row, answer]) =>
      new Promise<number>((resolve) => {
        performance.clearResourceTimings()
        const clickedMs = performance.now()
        const painted = () => {
          const entries = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
          const answered = answer === null ? undefined : entries.find(({ name }) => name.includes(answer ?? ''))
          resolve(performance.now() - (answered?.responseEnd ?? clickedMs))
        }
        const look = () => {
          const isShown = document.querySelectorAll(row ?? '').length >= 50
          if (isShown) requestAnimationFrame(() => setTimeout(painted, 0))
          else requestAnimationFrame(look)
        }
        location.hash = hash ?? ''
        look()
      }),
    [`#/${view}`, ROW, path] as const,
  )
}
