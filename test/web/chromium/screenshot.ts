import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, startServe } from '../../help/app.ts'
import { CHROMIUM, openBrowser, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'

// `bun run screenshot` makes the picture of README.md: the live page of a service that watches recorded calls for ten minutes.
// `bun run screenshot --all FOLDER [--minutes N]` puts every view at three widths in both themes into a folder.

const ROOT = resolve(import.meta.dir, '../../..')
const EMAIL = 'anna@example.com'
/**
 * Recordings, each of one PBX. Recordings with a pause are repeated from the start; the others begin when the pictures
 * are due, and stop at a moment at which their calls are up.
 */
const PBXS = [
  { name: 'office', file: 'i2-queue-local-members.ami', pauseMs: 4_000 },
  { name: 'hotel', file: 'concurrent.esl', pauseMs: 6_000 },
  { name: 'sales', file: 'l-attended-transfer.ami', untilMs: 6_000 },
  { name: 'support', file: 'h2-ring-group-local.ami', untilMs: 2_000 },
  { name: 'reception', file: 'k-blind-transfer.ami', untilMs: 6_000 },
] as const
const WIDTHS = { 1280: 800, 390: 844, 320: 640 } as const
const VIEWS = {
  live: ['#/live', '.live-call'],
  webhooks: ['#/webhooks', '.webhook-row'],
  deliveries: ['#/deliveries', 'tbody tr'],
  'deliveries-filtered': ['#/deliveries?state=failed&number=15551230001', '.filters'],
  calls: ['#/calls', 'tbody tr'],
  phones: ['#/phones', 'tbody tr'],
  account: ['#/account', '.tokens li'],
} as const

const argument = (name: string) => process.argv[process.argv.indexOf(name, 2) + 1 || process.argv.length]
const folder = argument('--all')
const minutes = Number(argument('--minutes') ?? 10)

if (CHROMIUM === undefined) throw new Error('Chromium is missing: apt-get install chromium')
using data = emptyFolder()
const crm = startReceiver()
const wallboard = startReceiver()
const due = Promise.withResolvers<void>()
const taken = Promise.withResolvers<void>()
const replays = PBXS.map((pbx) =>
  startReplay({
    files: [fixture(pbx.file)],
    ...('pauseMs' in pbx
      ? { againAfterMs: pbx.pauseMs }
      : { after: due.promise, holds: [{ atMs: pbx.untilMs, until: taken.promise }] }),
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
  const { page } = await visit(browser, { viewport: { width: 1280, height: 1000 }, reducedMotion: 'reduce' })
  await page.goto(app.url)
  await page.getByLabel('E-mail').fill(EMAIL)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Up to date', { exact: true }).waitFor()
  due.resolve()
  if (folder === undefined) await takeLive(page, join(ROOT, '.github/live.png'))
  else await takeAll(page, folder)
} finally {
  taken.resolve()
  await browser.close()
  await app.stop()
  for (const replay of replays) await replay.stop()
  await crm.stop()
  await wallboard.stop()
}

/** Waits until the calls of all PBXs are up, and one has been transferred. */
async function takeLive(page: Page, path: string): Promise<void> {
  await until('several calls are up', async () => {
    const texts = await page.locator('.live-call:not(.ended)').allTextContents()
    const has = (word: string) => texts.some((text) => text.includes(word))
    return has('talking') && has('ringing') && has('transfer')
  })
  await page.screenshot({ path, animations: 'disabled' })
  console.log(path)
}

async function takeAll(page: Page, into: string): Promise<void> {
  mkdirSync(into, { recursive: true })
  const { result } = (await ask(app, 'GET', '/integration/delivery?state=delivered&limit=1', { token })).body
  const [delivery] = (result as { items: { id: string; call_id: string }[] }).items
  const views = {
    ...VIEWS,
    delivery: [`#/deliveries/${delivery?.id}`, '.attempts'],
    call: [`#/calls/${delivery?.call_id}`, '.view-head'],
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
