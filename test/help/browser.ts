import { readFileSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { atRunEnd } from './run-end.ts'

/** Debian's Chromium, or another of its kind; `undefined`: the browser tests are skipped, by name. */
export const CHROMIUM = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
  .map((name) => Bun.which(name))
  .find((path) => path !== null)

/** The run's browser. */
const RUN = Symbol.for('hookswitch.test.browser')
const holder: { [RUN]?: Promise<Browser> } & object = Object(globalThis)

/** Returns the browser of this run; the first test that asks starts it. Each visit has its own storage. */
export function browserOfRun(): Promise<Browser> {
  const running = holder[RUN]
  if (running !== undefined) return running
  const browser = openBrowser()
  holder[RUN] = browser
  atRunEnd(async () => (await browser).close())
  return browser
}

export async function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM ?? '',
    args: [
      // Chromium's sandbox does not start as root, as in containers of build servers.
      '--no-sandbox',
      '--disable-dev-shm-usage',
      // A machine without a sound card still plays, and at the right pace.
      '--disable-audio-output',
    ],
  })
}

export type Visit = {
  readonly page: Page
  /** Every address that the page asked for. */
  readonly asked: readonly string[]
  /** The page's faults: scripts that threw, and requests that its policy refused. */
  readonly faults: readonly string[]
}

/** Far longer than a loaded machine takes: it names what never comes, and measures nothing. */
const PATIENCE_MS = 300_000

export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'Europe/Berlin', ...options })
  context.setDefaultTimeout(PATIENCE_MS)
  const page = await context.newPage()
  const asked: string[] = []
  const faults: string[] = []
  page.on('request', (request) => void asked.push(request.url()))
  page.on('pageerror', (error) => void faults.push(String(error)))
  page.on('console', (message) => {
    const text = message.text()
    // A status that the page deals with is no fault of it.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) faults.push(text)
  })
  return { page, asked, faults }
}

/** Makes the page ask for nothing by itself, as one in the background, until the returned function is called. */
export async function inBackground(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => Object.defineProperty(document, 'hidden', { configurable: true, get: () => true }))
  return () => page.evaluate(() => void Reflect.deleteProperty(document, 'hidden'))
}

/** Returns by how many pixels the page is too wide, after charts have followed its size. */
export async function overflowOf(page: Page): Promise<number> {
  const read = () => document.documentElement.scrollWidth - document.documentElement.clientWidth
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth
  // If it never fits, the number below shows it.
  await page.waitForFunction(fits, undefined, { timeout: 20_000 }).catch(() => undefined)
  return page.evaluate(read)
}

/** Returns the texts of table cells whose text or icons are drawn over those of another cell in their row, a pair each. */
export function overlappingCells(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    type Box = { left: number; right: number; top: number; bottom: number }
    const common = (one: Box, other: Box): Box => ({
      left: Math.max(one.left, other.left),
      right: Math.min(one.right, other.right),
      top: Math.max(one.top, other.top),
      bottom: Math.min(one.bottom, other.bottom),
    })
    // A text for screen readers alone is cut off, and so is one that is longer than its cell.
    const seen = (element: Element | null, box: Box): Box =>
      element === null || element.tagName === 'TR'
        ? box
        : seen(
            element.parentElement,
            getComputedStyle(element).overflow === 'visible' ? box : common(box, element.getBoundingClientRect()),
          )
    const textsOf = (cell: Element) => {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT)
      const boxes: Box[] = []
      while (walker.nextNode()) {
        const text = document.createRange()
        text.selectNodeContents(walker.currentNode)
        for (const box of text.getClientRects()) boxes.push(seen(walker.currentNode.parentElement, box))
      }
      for (const icon of cell.querySelectorAll('svg'))
        boxes.push(seen(icon.parentElement, icon.getBoundingClientRect()))
      return boxes
    }
    const cover = (one: Box, other: Box) => {
      const { left, right, top, bottom } = common(one, other)
      return right - left > 1 && bottom - top > 1
    }
    return [...document.querySelectorAll('tbody tr')].flatMap((row) => {
      const cells = [...row.querySelectorAll('td')].map((cell) => ({ text: cell.textContent, boxes: textsOf(cell) }))
      return cells.flatMap((one, at) =>
        cells
          .slice(at + 1)
          .filter((other) => one.boxes.some((box) => other.boxes.some((another) => cover(box, another))))
          .map((other) => `${one.text} over ${other.text}`),
      )
    })
  })
}

const AXE = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Returns the accessibility faults of the page, or of parts of it (CSS selectors), one line each. */
export async function accessibilityFaults(page: Page, parts: readonly string[] = ['html']): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  // An element that fades in has no contrast yet.
  await page.evaluate(() =>
    Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))),
  )
  const { result } = await session.send('Runtime.evaluate', {
    expression: `${AXE}; axe.run({ include: ${JSON.stringify(parts.map((part) => [part]))} }, { resultTypes: ['violations'] }).then(({ violations }) =>
      JSON.stringify(violations.flatMap((one) => one.nodes.map((node) => one.id + ': ' + node.target.join(' ')))))`,
    awaitPromise: true,
    returnByValue: true,
  })
  await session.detach()
  return JSON.parse(String(result.value))
}
