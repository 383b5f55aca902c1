import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, run, startServe } from '../../help/app.ts'
import { CHROMIUM, openBrowser, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

// `bun run screenshot` makes the picture of README.md: one recorded call, its timeline beside the JSON of an event.
// `bun run screenshot --all FOLDER [--minutes N]` puts every view at three widths in both themes into a folder, of a service that watches
// recorded calls for ten minutes.

const ROOT = resolve(import.meta.dir, '../../..')
const EMAIL = 'anna@example.com'
/**
 * Recordings, each of one PBX. Recordings with a pause are repeated from the start; the others begin when the pictures
 * are due, and stop at a moment at which their calls are up.
 */
const ALL_PBXS = [
  { name: 'office', file: 'i2-queue-local-members.ami', pauseMs: 4_000 },
  { name: 'hotel', file: 'concurrent.esl', pauseMs: 6_000 },
  { name: 'sales', file: 'l-attended-transfer.ami', untilMs: 6_000 },
  { name: 'support', file: 'h2-ring-group-local.ami', untilMs: 2_000 },
  { name: 'reception', file: 'k-blind-transfer.ami', untilMs: 6_000 },
] as const
/** A row that is no longer being read. */
const ROW = 'tbody tr:not(.bones)'
/** The line of the call's story whose JSON is in the picture. */
const STORY_LINE = /transfers to/
const WIDTHS = { 1280: 800, 390: 844, 320: 640 } as const
const VIEWS = {
  live: ['#/live', ROW],
  webhooks: ['#/webhooks', ROW],
  deliveries: ['#/deliveries', ROW],
  'deliveries-filtered': ['#/deliveries?state=failed&number=15551230001', 'search.bar'],
  calls: ['#/calls', ROW],
  phones: ['#/phones', ROW],
  pbxs: ['#/pbxs', ROW],
  people: ['#/people', ROW],
  audit: ['#/people/audit', ROW],
  account: ['#/account', ROW],
  help: ['help', 'main h1'],
  docs: ['docs', 'main h2'],
} as const

const argument = (name: string) => process.argv[process.argv.indexOf(name, 2) + 1 || process.argv.length]
const folder = argument('--all')
const minutes = folder === undefined ? 0 : Number(argument('--minutes') ?? 10)
/** The call of the picture, played to its end. */
const PBXS = folder === undefined ? [{ name: 'office', file: 'k-blind-transfer.ami' }] : ALL_PBXS

if (CHROMIUM === undefined) throw new Error('Chromium is missing: apt-get install chromium')
using data = emptyFolder()
const crm = startReceiver()
const wallboard = startReceiver()
const due = Promise.withResolvers<void>()
const taken = Promise.withResolvers<void>()
const replays = PBXS.map((pbx) =>
  startReplay({
    files: [fixture(pbx.file)],
    ...('pauseMs' in pbx ? { againAfterMs: pbx.pauseMs } : { after: due.promise }),
    ...('untilMs' in pbx ? { holds: [{ atMs: pbx.untilMs, until: taken.promise }] } : {}),
  }),
)
const app = await startServe({
  cwd: data.path,
  args: [
    '--allow-net',
    'loopback',
    '--retry-schedule',
    '30s,5m',
    ...replays.flatMap(({ url }, at) => ['--pbx', `${url}?name=${PBXS[at]?.name}`]),
  ],
})
await addUser(data.path, EMAIL)
await run(['user', 'type', 'admin', '--email', EMAIL], { cwd: data.path })
const token = await logIn(app, EMAIL)
const webhooks = [
  { name: 'CRM', url: `http://localhost:${crm.port}/calls` },
  { name: 'Wallboard', url: `http://localhost:${wallboard.port}/events` },
  // Nothing listens there: a receiver that is down.
  ...(folder === undefined ? [] : [{ name: 'Archive', url: 'http://localhost:1/archive' }]),
]
await ask(app, 'PUT', '/integration/webhook', { token, body: webhooks.map(({ url }) => webhook(url)) })
for (const body of webhooks) await ask(app, 'PUT', '/integration/webhook/options', { token, body })
const browser = await openBrowser()
try {
  await Bun.sleep(minutes * 60_000)
  const { page } = await visit(browser, { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
  await page.goto(app.url)
  await page.getByLabel('E-mail').fill(EMAIL)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('.shell[data-connection=up]').waitFor()
  due.resolve()
  if (folder === undefined) await takeCall(page, join(ROOT, '.github/call.png'))
  else await takeAll(page, folder)
} finally {
  taken.resolve()
  await browser.close()
  await app.stop()
  for (const replay of replays) await replay.stop()
  await crm.stop()
  await wallboard.stop()
}

/** Waits until the call has ended and its record is delivered, and opens it. */
async function takeCall(page: Page, path: string): Promise<void> {
  await until('the record of the call is delivered', async () => {
    const { items } = (await ask(app, 'GET', '/integration/delivery?state=delivered&event=call_saved', { token })).body
      .result as { items: { call_id: string }[] }
    if (items.length < webhooks.length) return false
    await page.goto(`${app.url}/#/calls/${items[0]?.call_id}`)
    return true
  })
  await page.getByText(STORY_LINE).click()
  await page.getByLabel('the JSON', { exact: true }).waitFor()
  await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur())
  await page.mouse.move(0, 0)
  await page.screenshot({ path, animations: 'disabled' })
  console.log(path)
}

async function takeAll(page: Page, into: string): Promise<void> {
  mkdirSync(into, { recursive: true })
  const { result } = (await ask(app, 'GET', '/integration/delivery?state=delivered&limit=1', { token })).body
  const [delivery] = (result as { items: { id: string; call_id: string }[] }).items
  const views = {
    ...VIEWS,
    delivery: [`#/deliveries/${delivery?.id}`, 'main h1'],
    call: [`#/calls/${delivery?.call_id}`, '.lanes'],
  }
  for (const colorScheme of ['light', 'dark'] as const)
    for (const [width, height] of Object.entries(WIDTHS)) {
      await page.setViewportSize({ width: Number(width), height })
      await page.emulateMedia({ colorScheme })
      for (const [name, [hash = '', landmark = '']] of Object.entries(views)) {
        await page.goto(`${app.url}/${hash}`)
        await page.locator(landmark).first().waitFor()
        await page.waitForTimeout(400)
        await page.screenshot({
          animations: 'disabled',
          path: join(into, `${name}-${width}-${colorScheme}.png`),
          fullPage: true,
        })
      }
    }
}
