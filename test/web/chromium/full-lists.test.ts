import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, run, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'
const SECRET = 'broker-s3cret'
const ROW = '.table tbody tr:not(.bones, .day)'
/** The requests for what the lists show. */
const DATA = /\/(call|phone|queue|trunk|agent|overview|integration\/\w+)(\?|$)/
const LISTS = ['calls', 'webhooks', 'deliveries', 'phones'] as const

/** Full lists of two PBXs: what they take of the screen, and what each row says. */
describe.skipIf(CHROMIUM === undefined)('full lists (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  const office = startReplay({ files: [fixture('h-ring-group.ami')], speed: 20, againAfterMs: 500 })
  const hotel = startReplay({ files: [fixture('i2-queue-local-members.ami')], speed: 20, againAfterMs: 500 })

  beforeAll(async () => {
    folder = emptyFolder()
    const pbxs = [`${office.url}?name=office`, `${hotel.url}?name=hotel`]
    app = await startServe({
      cwd: folder.path,
      args: ['--allow-net', 'loopback', ...pbxs.flatMap((url) => ['--pbx', url])],
    })
    const add = `user add --admin --email ${EMAIL} --name Ada`
    await run(add.split(' '), { cwd: folder.path, stdin: PASSWORD })
    const token = await logIn(app, EMAIL)
    const urls = Array.from({ length: 100 }, (_, at) => `http://user:${SECRET}@localhost:1/hooks/${at}`)
    await ask(app, 'PUT', '/integration/webhook', { token, body: urls.map((url) => webhook(url)) })
    await until('both PBXs have calls in the list', async () => {
      const { items } = (await ask(app, 'GET', '/call', { token })).body.result as { items: { pbx: string }[] }
      return new Set(items.map(({ pbx }) => pbx)).size === 2
    })
    await office.stop()
    await hotel.stop()
    seen = await visit(await browserOfRun(), { viewport: { width: 1_280, height: 800 }, colorScheme: 'light' })
    const { page } = seen
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.locator('.shell[data-connection=up]').waitFor()
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    await office.stop()
    await hotel.stop()
    folder?.[Symbol.dispose]()
  })

  const open = async (hash: string, landmark = ROW) => {
    await seen.page.goto(`${app.url}/#/${hash}`)
    await seen.page.locator(landmark).first().waitFor()
  }

  test('a hundred webhooks are no long way', async () => {
    const { page } = seen
    for (const [width, most] of [
      [1_280, 4_500],
      [390, 6_200],
    ] as const) {
      await page.setViewportSize({ width, height: 800 })
      await open('webhooks', `${ROW} >> nth=99`)
      const height = await page.evaluate(() => document.documentElement.scrollHeight)
      expect([width, height <= most, height]).toEqual([width, true, height])
    }
    await page.setViewportSize({ width: 1_280, height: 800 })
  })

  test('a row has at most three stops of the tabulator', async () => {
    const { page } = seen
    for (const view of LISTS) {
      await open(view)
      const stops = await page.evaluate(
        (row) => [...document.querySelectorAll(row)].map((one) => one.querySelectorAll('a, button, input').length),
        ROW,
      )
      expect([view, Math.max(...stops) <= 3]).toEqual([view, true])
    }
  })

  test('with two PBXs each row of calls and phones names its own, on a phone too', async () => {
    const { page } = seen
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 800 })
      for (const view of ['calls', 'phones']) {
        await open(view)
        const rows = await page.locator(ROW).evaluateAll((all) =>
          all.map((row) => {
            const texts = [...row.querySelectorAll('*')]
              .filter((one) => one.checkVisibility())
              .map((one) => one.innerHTML)
            return texts.some((text) => /office|hotel/.test(text))
          }),
        )
        expect([width, view, rows.length > 0, rows.every(Boolean)]).toEqual([width, view, true, true])
      }
    }
    await page.setViewportSize({ width: 1_280, height: 800 })
  })

  test('no password of a URL is in the page', async () => {
    const { page } = seen
    for (const view of [...LISTS, 'live', 'people/audit']) {
      await open(view)
      expect([view, (await page.content()).includes(SECRET)]).toEqual([view, false])
    }
  })

  test('while a list is read nothing says that there is none, and its rows come without a jump', async () => {
    const { page } = seen
    const gate = { isShut: false, opens: Promise.resolve(), open: () => {} }
    await page.route(DATA, async (route) => {
      const response = await route.fetch().catch(() => null)
      if (response === null) return
      if (gate.isShut) await gate.opens
      await route.fulfill({ response }).catch(() => {})
    })
    // The webhooks are known from the overview.
    for (const view of ['calls', 'deliveries', 'phones']) {
      await open('account', 'h1')
      const { promise, resolve } = Promise.withResolvers<void>()
      Object.assign(gate, { isShut: true, opens: promise, open: resolve })
      await open(view, '.bones')
      await page.evaluate(observeShifts)
      expect([view, await nothingTexts(page)]).toEqual([view, []])
      gate.isShut = false
      gate.open()
      await page.locator(ROW).first().waitFor()
      const shift = await page.evaluate<number>('window.shifts')
      expect([view, shift <= 0.02, shift]).toEqual([view, true, shift])
    }
    await page.unroute(DATA)
  })

  test.each(['light', 'dark'] as const)(
    'the views of administrators fit and are accessible: %s',
    async (colorScheme) => {
      const { page } = seen
      await page.emulateMedia({ colorScheme })
      for (const width of [1_280, 390, 320]) {
        await page.setViewportSize({ width, height: 800 })
        for (const [hash, landmark] of [
          ['pbxs', ROW],
          ['pbxs/office', 'h1'],
          ['people', ROW],
          ['people/accounts', ROW],
          ['people/audit', ROW],
          ...['freepbx', 'asterisk', 'fusionpbx', 'freeswitch'].map((product) => [
            `connect?product=${product}`,
            '.step',
          ]),
        ] as const) {
          await open(hash ?? '', landmark)
          expect([hash, width, await accessibilityFaults(page)]).toEqual([hash, width, []])
          expect([hash, width, await overflowOf(page)]).toEqual([hash, width, 0])
        }
      }
      await page.setViewportSize({ width: 1_280, height: 800 })
    },
  )

  test('with forced colours, what is chosen and what has trouble is seen', async () => {
    const { page } = seen
    await page.emulateMedia({ forcedColors: 'active', colorScheme: 'light' })
    await open('webhooks')
    const ground = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((one) => getComputedStyle(one).backgroundColor)
    expect(await ground('.nav-item[aria-current]')).not.toBe(await ground('.nav-item:not([aria-current])'))
    const edge = (selector: string) =>
      page
        .locator(selector)
        .first()
        .evaluate((one) => getComputedStyle(one).borderBottomColor)
    expect(await edge('.tabs label:has(:checked)')).not.toBe(await edge('.tabs label:not(:has(:checked))'))
    await page.locator('.state.bad').first().waitFor()
    const mark = await page
      .locator('.state.bad')
      .first()
      .evaluate((one) => getComputedStyle(one, '::before').backgroundColor)
    expect(mark).not.toBe(await ground('body'))
    await page.emulateMedia({ forcedColors: 'none' })
    expect(seen.faults).toEqual([])
  })
})

/** Returns what is said to be missing: "No calls in this time". */
const nothingTexts = (page: Page): Promise<string[]> =>
  page
    .locator('main')
    .evaluate((main) => [...main.querySelectorAll('h2, p')].map((one) => one.textContent ?? ''))
    .then((texts) => texts.filter((text) => /^(No|Nothing|Nobody|There is no) /.test(text)))

/** Adds up how far the parts of the page jump. */
function observeShifts(): void {
  const sum = Object.assign(window, { shifts: 0 })
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if ('value' in entry) sum.shifts += Number(entry.value)
  }).observe({ type: 'layout-shift' })
}
