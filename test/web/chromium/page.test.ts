import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import {
  accessibilityFaults,
  browserOfRun,
  CHROMIUM,
  inBackground,
  overflowOf,
  overlappingCells,
  type Visit,
  visit,
} from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD, webhook } from '../../help/client.ts'
import { startGate } from '../../help/gate.ts'
import { fixture } from '../../help/pbx.ts'
import { reservePort } from '../../help/ports.ts'
import { type Receiver, startReceiver, until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'
/** As long as the `<unknown>` that it replaces, so that the recording's offsets hold. */
const HOSTILE_NAME = 'A<b id=x>'
const NAMELESS = /(CallerIDNum: 15551230001\r\nCallerIDName: )<unknown>/g
const HOSTILE_RESPONSE = '<script>window.taken = 1</script><img src="http://other.example/x.png">'
const WIDTHS = {
  desktop: { width: 1_360, height: 850 },
  phone: { width: 390, height: 844 },
  narrow: { width: 320, height: 640 },
} as const

/** The recorded call, from a caller whose name is markup. */
function hostileRecording(folder: string): string {
  const path = join(folder, 'hostile.ami')
  const source = fixture('k-blind-transfer.ami')
  writeFileSync(path, readFileSync(source, 'latin1').replaceAll(NAMELESS, `$1${HOSTILE_NAME}`), 'latin1')
  writeFileSync(path.replace(/ami$/, 'timing'), readFileSync(source.replace(/ami$/, 'timing')))
  return path
}

describe.skipIf(CHROMIUM === undefined)('the page, in a browser (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  let good: Receiver
  let bad: Receiver
  let gate: Awaited<ReturnType<typeof startGate>>
  let replay: ReturnType<typeof startReplay>

  beforeAll(async () => {
    folder = emptyFolder()
    good = startReceiver(() => new Response(HOSTILE_RESPONSE))
    bad = startReceiver(() => new Response('not now', { status: 503 }))
    gate = await startGate()
    app = await startServe({
      cwd: folder.path,
      args: [
        // Started again on the same port.
        '--listen',
        `127.0.0.1:${reservePort()}`,
        '--allow-net',
        'loopback',
        '--retry-schedule',
        '1s,1s,1s,1s,1s,1s,1s,1s,1s,1h',
        '--pbx',
        `ami://watcher:secret@127.0.0.1:${gate.port}?name=office`,
      ],
    })
    await addUser(folder.path, EMAIL)
    seen = await visit(await browserOfRun(), { viewport: WIDTHS.desktop, colorScheme: 'light' })
  })

  afterAll(async () => {
    await seen?.page.context().close()
    gate?.stop()
    await app?.stop()
    await replay?.stop()
    good?.stop()
    bad?.stop()
    folder?.[Symbol.dispose]()
  })

  const open = (hash: string) => seen.page.goto(`${app.url}/${hash}`)

  test('a wrong password is refused with a message, and the right one lets in', async () => {
    const { page } = seen
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill('wrong password')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').filter({ hasText: 'wrong' }).waitFor()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    await page.getByText('Up to date', { exact: true }).waitFor()
    await page.getByText('No active calls').waitFor()
  })

  test('the token survives a reload, and no other tab has it', async () => {
    const { page } = seen
    await page.reload()
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    const other = await page.context().newPage()
    await other.goto(app.url)
    await other.getByLabel('Password').waitFor()
    await other.close()
  })

  test('webhooks are added; an error is shown beside its field', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('No webhooks yet').waitFor()
    for (const url of [`${good.url}/crm`, 'ftp://nowhere.example/']) {
      await page.getByRole('button', { name: 'Add webhook' }).click()
      await page.getByPlaceholder('https://').last().fill(url)
    }
    await page.getByRole('button', { name: 'Save list' }).click()
    const faulty = page.getByRole('listitem').filter({ hasText: 'New.' }).last()
    await faulty.getByRole('alert').waitFor()
    expect(await faulty.getByRole('textbox').getAttribute('aria-invalid')).toBe('true')
    await faulty.getByRole('textbox').fill(`${bad.url}/bot`)
    await faulty.getByRole('switch', { name: 'dial ended' }).click({ force: true })
    await page.getByRole('button', { name: 'Save list' }).click()
    await page.getByText('Saved.').waitFor()
    const token = await logIn(app, EMAIL)
    const { body } = await ask(app, 'GET', '/integration/webhook', { token })
    expect(body.result).toEqual([webhook(`${good.url}/crm`), webhook(`${bad.url}/bot`, { dial_ended: false })])
  })

  test("someone else's change is shown and not overwritten", async () => {
    const { page } = seen
    const token = await logIn(app, EMAIL)
    const theirs = [webhook(`${good.url}/crm`, { dial_started: false }), webhook(`${bad.url}/bot`)]
    const inForeground = await inBackground(page)
    const mine = page.getByRole('group', { name: `${bad.url}/bot` })
    await mine.getByRole('switch', { name: 'call saved' }).click({ force: true })
    await ask(app, 'PUT', '/integration/webhook', { token, body: theirs })
    await page.getByRole('button', { name: 'Save list' }).click()
    const conflict = page.getByRole('alert', { name: 'Changed by someone else' })
    await conflict.getByText('dial started off').waitFor()
    expect((await ask(app, 'GET', '/integration/webhook', { token })).body.result).toEqual(theirs)
    expect(await accessibilityFaults(page)).toEqual([])
    await conflict.getByRole('button', { name: 'Apply my changes to their list' }).click()
    await page.getByRole('button', { name: 'Save list' }).click()
    await page.getByText('Unsaved changes').waitFor({ state: 'detached' })
    expect((await ask(app, 'GET', '/integration/webhook', { token })).body.result).toEqual([
      theirs[0],
      webhook(`${bad.url}/bot`, { call_saved: false }),
    ])
    await ask(app, 'PUT', '/integration/webhook', {
      token,
      body: [webhook(`${good.url}/crm`), webhook(`${bad.url}/bot`)],
    })
    await inForeground()
  })

  test('a test request is sent, and a hostile response is shown as text', async () => {
    const { page } = seen
    await open('#/live')
    await open('#/webhooks')
    await page.getByRole('button', { name: `Send a test to ${good.url}/crm` }).click()
    await page.getByText('response 200').waitFor()
    await page.getByText(HOSTILE_RESPONSE).waitFor()
    expect(await page.evaluate('window.taken')).toBeUndefined()
    await page.getByRole('button', { name: 'Done' }).click()
    expect(JSON.parse(good.received.at(-1)?.body ?? '').data.name).toBe('test')
  })

  test('the secret is shown, and rotated', async () => {
    const { page } = seen
    await page.getByRole('button', { name: `Signing secret of ${good.url}/crm` }).click()
    const dialog = page.getByRole('dialog', { name: 'Signing secret' })
    await dialog.getByRole('button', { name: 'Show' }).click()
    const before = await dialog.locator('output').textContent()
    expect(before).toStartWith('whsec_')
    await dialog.getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog', { name: 'Rotate this secret?' }).getByRole('button', { name: 'Rotate' }).click()
    await dialog.getByText('also signs until').waitFor()
    expect(await dialog.locator('output').textContent()).not.toBe(before)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  })

  test("options are set, with an error beside its field and a preview of the receiver's request", async () => {
    const { page } = seen
    const openOptions = async () => {
      await page.getByRole('button', { name: `Options of ${good.url}/crm` }).click()
      const dialog = page.getByRole('dialog', { name: 'Options' })
      await dialog.getByLabel('Name', { exact: true }).waitFor()
      return dialog
    }
    const dialog = await openOptions()
    await dialog.getByLabel('Name', { exact: true }).fill('Our CRM')
    await dialog.getByRole('checkbox', { name: /^call missed/ }).check()
    await dialog.getByLabel('Format').selectOption('slack')
    await dialog.getByText('"type": "plain_text"').first().waitFor()
    await dialog.getByLabel('Format').selectOption('template')
    await dialog.getByLabel('Template').fill('{{ data.name')
    await dialog.getByText(/^line 1, column 1: /).waitFor()
    await dialog.getByLabel('Format').selectOption('default')
    await dialog.getByText('Only some events').click()
    await dialog.getByLabel('direction').fill('incoming')
    // Saving needs no scrolling: the wrong field comes into sight and gets the focus.
    await dialog.getByRole('button', { name: 'Save options' }).click()
    await dialog.getByText('incoming matches no event').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('filter/direction')
    await dialog.getByLabel('direction').fill('inbound, outbound, internal')
    await dialog.getByText('More request headers').click()
    await dialog.getByRole('button', { name: 'Add a header' }).click()
    await dialog.getByLabel('Name of header 1').fill('Host')
    await dialog.getByRole('button', { name: 'Save options' }).click()
    await dialog.getByText('Host is a header that cannot be set here').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await dialog.getByLabel('Name of header 1').fill('X-Api-Key')
    await dialog.getByLabel('Value of header 1').fill('secret')
    await dialog.getByRole('button', { name: 'Save options' }).click()
    await dialog.waitFor({ state: 'detached' })
    const again = await openOptions()
    expect(await again.getByLabel('Name', { exact: true }).inputValue()).toBe('Our CRM')
    expect(await again.getByLabel('direction').inputValue()).toBe('inbound, outbound, internal')
    expect(await again.getByLabel('Value of header 1').inputValue()).toBe('')
    expect(await again.getByRole('checkbox', { name: /^call missed/ }).isChecked()).toBe(true)
    expect(await again.getByRole('checkbox', { name: /^call held/ }).isChecked()).toBe(false)
    await page.keyboard.press('Escape')
    await again.waitFor({ state: 'detached' })
    const row = page.locator('.webhook-row').filter({ hasText: 'Our CRM' })
    for (const [paused, shown] of [
      [true, /^paused: nothing is sent$/],
      [false, /^(up|ready)$/],
    ] as const) {
      const options = await openOptions()
      await options.getByRole('checkbox', { name: /^Paused/ }).setChecked(paused)
      await options.getByRole('button', { name: 'Save options' }).click()
      await options.waitFor({ state: 'detached' })
      await row.getByText(shown).waitFor()
    }
  })

  test('a call shows as it moves, its caller as text, its events with their outcomes', async () => {
    const { page } = seen
    await open('#/live')
    // While it rings, talks, and talks to the other: until that was seen.
    const moments = [1_500, 3_500, 6_000].map((atMs) => ({ atMs, ...Promise.withResolvers<void>() }))
    const holds = moments.map(({ atMs, promise }) => ({ atMs, until: promise }))
    const goOn = () => moments.shift()?.resolve()
    replay = startReplay({ files: [hostileRecording(folder.path)], speed: 6, holds })
    gate.open(replay.port)
    const board = page.getByRole('region', { name: 'Active calls' })
    await board.getByText(HOSTILE_NAME).first().waitFor()
    expect(await page.locator('#x').count()).toBe(0)
    await board.getByText('ringing 101').waitFor()
    goOn()
    await board.getByText('talking to 101').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    goOn()
    await board.getByText('1 transfer').waitFor()
    await board.getByText('talking to 102').waitFor()
    goOn()
    await board.getByText('No active calls').waitFor()
    const events = page.getByRole('region', { name: 'Events' })
    await events.getByText('call saved').waitFor()
    await events.getByText('call blind transferred').waitFor()
    await until('every event arrived', () => new Set(good.received.slice(1).map((one) => one.id)).size === 10)
  })

  test('the call is in the records, with a timeline and its deliveries', async () => {
    const { page } = seen
    await open('#/calls')
    await page.getByRole('link', { name: HOSTILE_NAME }).click()
    await page.getByRole('img', { name: 'inbound call from' }).waitFor()
    expect(await page.locator('.bar.ring').count()).toBe(2)
    expect(await page.locator('.bar.talk').count()).toBe(3)
    expect(await page.locator('.arrow').count()).toBe(1)
    await page.getByText('blind transfer', { exact: true }).waitFor()
    const events = page.getByRole('region', { name: 'Events and deliveries' })
    await until('every event is there', async () => (await events.locator('.call-events > li').count()) === 10)
    await until('each is delivered', async () => (await events.getByText('delivered at').count()) === 10)
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('a failing receiver is shown as down, and after it recovers everything is delivered', async () => {
    const { page } = seen
    await open('#/webhooks')
    const row = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: `Remove ${bad.url}/bot` }) })
    await row.getByText(/down for/).waitFor()
    await row.getByText(/\d+ pending/).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await open('#/live')
    await page.getByText('1 webhook is down.').waitFor()
    bad.answerWith(() => new Response('ok'))
    await open('#/webhooks')
    await row.getByText('up', { exact: true }).waitFor()
    await row.getByText(/\d+ pending/).waitFor({ state: 'detached' })
    const token = await logIn(app, EMAIL)
    const { body } = await ask(app, 'GET', '/integration/delivery?state=pending', { token })
    expect(body.result).toEqual({ items: [], next_cursor: null })
  })

  test('a delivery is found, opened and sent again', async () => {
    const { page } = seen
    await open('#/deliveries')
    await page.getByRole('radio', { name: 'Delivered' }).check({ force: true })
    // The first event was certainly refused: later ones perhaps waited until the receiver was back.
    await page.getByLabel('Event').selectOption('call_started')
    await page.getByLabel('Webhook').selectOption(`${bad.url}/bot`)
    await page.waitForFunction(() => document.querySelectorAll('table tbody tr').length === 1)
    await page.locator('tbody tr').last().getByRole('link', { name: 'call started' }).click()
    await page.getByRole('heading', { name: 'call started' }).waitFor()
    await page.getByText('503').first().waitFor()
    await page.getByRole('region', { name: 'the body' }).getByText(HOSTILE_NAME).waitFor()
    await page.getByRole('region', { name: 'the curl command' }).getByText('webhook-signature: v1,').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const before = bad.received.length
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The delivery is being sent again.').waitFor()
    await until('it was sent again', () => bad.received.length === before + 1)
    const ids = bad.received.map((one) => one.id)
    expect(ids.slice(0, -1)).toContain(ids.at(-1) ?? '')
  })

  test('deliveries are found by the number of their call, and by the short id that the list shows', async () => {
    const { page } = seen
    await open('#/deliveries')
    const shortId = (await page.locator('tbody .id-cell').first().textContent()) ?? ''
    expect(shortId).toMatch(/^[0-9a-f]{8}$/)
    const rows = page.locator('tbody tr')
    await page.getByLabel('Call id').fill(shortId)
    await page.waitForURL(/call_id=/)
    await rows.first().waitFor()
    expect(new Set(await page.locator('tbody .id-cell').allTextContents())).toEqual(new Set([shortId]))
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByLabel('Number').fill('15551230001')
    await page.waitForURL(/number=/)
    await rows.first().waitFor()
    await page.getByLabel('Number').fill('15551239999')
    await page.getByText('No matches').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await rows.first().waitFor()
  })

  test('a filter that changes while another one is typed stays', async () => {
    const { page } = seen
    await open('#/deliveries')
    await page.getByLabel('Number').waitFor()
    // The search for typed text begins after a pause; the state is chosen within it.
    await page.evaluate(`new Promise((resolve) => {
      const labelled = (text) => [...document.querySelectorAll('label')].find((one) => one.textContent === text)
      labelled('Number').control.value = '15551230001'
      labelled('Number').control.dispatchEvent(new Event('input', { bubbles: true }))
      requestAnimationFrame(() => setTimeout(() => resolve(labelled('Delivered').click()), 20))
    })`)
    await page.waitForURL(/number=15551230001/)
    expect(page.url()).toContain('state=delivered')
    await page.getByRole('button', { name: 'Clear' }).click()
  })

  test('new deliveries are counted above the list while it is read, and shown on request', async () => {
    const { page } = seen
    await open('#/live')
    await open('#/deliveries')
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    const before = await rows.first().getByRole('link').first().getAttribute('href')
    const next = startReplay({ files: [hostileRecording(folder.path)], speed: 20 })
    gate.open(next.port)
    await replay.stop()
    replay = next
    const button = page.getByRole('button', { name: /^\d+ new$/ })
    await button.waitFor()
    expect(await rows.first().getByRole('link').first().getAttribute('href')).toBe(before)
    expect(await accessibilityFaults(page)).toEqual([])
    await replay.finished
    await button.click()
    await page.waitForFunction((href) => !document.querySelector(`tbody tr:first-child a[href="${href}"]`), before)
  })

  test('a webhook has charts of its own', async () => {
    const { page } = seen
    await open('#/webhooks')
    await page.getByRole('button', { name: `Charts of ${bad.url}/bot` }).click()
    const row = page.locator('.webhook-row').filter({ hasText: 'Success rate' })
    await row.getByText(/\d+ delivered, \d+ failed attempts, [1-9]\d* failed probes?/).waitFor()
    await row.getByRole('img', { name: 'Median and 99th percentile' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: `Charts of ${bad.url}/bot` }).click()
    await row.waitFor({ state: 'detached' })
  })

  test('a delivery to a webhook that is down is retried at once, as its probe, and the probes are named', async () => {
    const { page } = seen
    await open('#/webhooks')
    bad.answerWith(() => new Response('not now', { status: 503, headers: { 'retry-after': '3600' } }))
    const next = startReplay({ files: [hostileRecording(folder.path)], speed: 20 })
    gate.open(next.port)
    await replay.stop()
    replay = next
    const row = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: `Remove ${bad.url}/bot` }) })
    await row.getByText(/down for/).waitFor()
    await replay.finished
    const before = bad.received.length
    const retry = row.getByRole('button', { name: `Retry now: ${bad.url}/bot` })
    await retry.click()
    await page.getByText('is being sent as a probe').waitFor()
    await until('it was sent', () => bad.received.length > before)
    await open('#/deliveries?state=pending')
    const id = bad.received.at(-1)?.id ?? ''
    const token = await logIn(app, EMAIL)
    const { body } = await ask(app, 'GET', '/integration/delivery?state=pending&limit=200', { token })
    const probed = (body.result as { items: { id: string; event_id: string }[] }).items.find(
      (one) => one.event_id === id,
    )
    await open(`#/deliveries/${probed?.id}`)
    await page.getByText('probe', { exact: true }).first().waitFor()
    await page.getByText(/\d made, and \d+ probes?/).waitFor()
    // A successful test brings the webhook back up, and its pending deliveries follow.
    bad.answerWith(() => new Response('ok'))
    await open('#/webhooks')
    await page.getByRole('button', { name: `Send a test to ${bad.url}/bot` }).click()
    await page.getByRole('dialog').getByText('Received').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await row.getByText('up', { exact: true }).waitFor()
    await row.getByText(/\d+ pending/).waitFor({ state: 'detached' })
  })

  test('pending deliveries of a webhook that is paused are shown as such, live and in the list', async () => {
    const { page } = seen
    const token = await logIn(app, EMAIL)
    const setPaused = (paused: boolean) =>
      ask(app, 'PUT', '/integration/webhook/options', {
        token,
        body: { url: `${good.url}/crm`, name: 'Our CRM', paused },
      })
    await setPaused(true)
    await open('#/live')
    const next = startReplay({ files: [hostileRecording(folder.path)], speed: 20 })
    gate.open(next.port)
    await replay.stop()
    replay = next
    await replay.finished
    const newest = page.locator('.feed-event').filter({ hasText: 'call saved' }).first()
    await newest.getByRole('link', { name: /pending.*Our CRM/ }).waitFor()
    await open('#/deliveries?state=pending')
    await page.getByText('webhook is paused').first().waitFor()
    await setPaused(false)
    await until('all were sent', async () => {
      const { body } = await ask(app, 'GET', '/integration/delivery?state=pending', { token })
      return (body.result as { items: unknown[] }).items.length === 0
    })
  })

  test.each([
    ['desktop', 'light'],
    ['desktop', 'dark'],
    ['phone', 'light'],
    ['phone', 'dark'],
    ['narrow', 'light'],
  ] as const)(
    'no view on a %s in the %s theme has an accessibility fault, is too wide, or has cells over each other',
    async (width, colorScheme) => {
      const { page } = seen
      await page.setViewportSize(WIDTHS[width])
      await page.emulateMedia({ colorScheme })
      for (const [hash, landmark] of [
        ['#/live', '.live-grid'],
        ['#/webhooks', '.webhook-row'],
        ['#/deliveries', 'table'],
        ['#/phones', 'table'],
        ['#/calls', 'table'],
        ['#/account', '.tokens'],
      ] as const) {
        await open(hash)
        await page.locator(landmark).first().waitFor()
        expect([hash, await accessibilityFaults(page)]).toEqual([hash, []])
        expect([hash, await overflowOf(page)]).toEqual([hash, 0])
        expect([hash, await overlappingCells(page)]).toEqual([hash, []])
      }
    },
  )

  test('the keyboard alone gets everywhere: the skip button, a link, a switch', async () => {
    const { page } = seen
    await page.setViewportSize(WIDTHS.desktop)
    await open('#/webhooks')
    await page.locator('.webhook-row').first().waitFor()
    await page.reload()
    await page.locator('.webhook-row').first().waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    // "Add webhook", "Connect a CRM", "Who calls", the URL, its first switch.
    for (let tabs = 0; tabs < 5; tabs++) await page.keyboard.press('Tab')
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe('switch')
    await page.keyboard.press('Space')
    await page.getByText('Unsaved changes').waitFor()
    await page.keyboard.press('Space')
    await page.getByText('Unsaved changes').waitFor({ state: 'detached' })
  })

  test.each(['Escape', 'Close', 'Done'])('the focus returns to what opened a dialog, closed with %s', async (how) => {
    const { page } = seen
    await open('#/webhooks')
    const opener = page.getByRole('button', { name: `Send a test to ${good.url}/crm` })
    await opener.click()
    const dialog = page.getByRole('dialog', { name: 'Test request' })
    await dialog.getByText('Received').waitFor()
    if (how === 'Escape') await page.keyboard.press('Escape')
    else await dialog.getByRole('button', { name: how }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await opener.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  })

  test('a URL that is listed twice is pointed out on both its rows', async () => {
    const { page } = seen
    await open('#/webhooks')
    await page.getByRole('button', { name: 'Add webhook' }).click()
    await page.getByPlaceholder('https://').last().fill(`${good.url}/crm`)
    const warnings = page.getByText('This URL is listed 2 times')
    await warnings.nth(1).waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await warnings.first().waitFor({ state: 'detached' })
  })

  test('an API token is made, shown once, and revoked', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Account' }).click()
    await page.getByLabel('New API token, for').fill('CRM sync')
    await page.getByRole('button', { name: 'Create' }).click()
    const token = (await page.getByRole('region', { name: 'the API token' }).textContent()) ?? ''
    expect((await ask(app, 'GET', '/auth/me', { token: token.trim() })).status).toBe(200)
    expect(await accessibilityFaults(page)).toEqual([])
    const owner = await logIn(app, EMAIL)
    await until('its use is stored', async () => {
      const { result } = (await ask(app, 'GET', '/auth/token', { token: owner })).body
      return (result as { name: string; last_used_at: string | null }[]).some(
        (one) => one.name === 'CRM sync' && one.last_used_at !== null,
      )
    })
    await open('#/live')
    // Otherwise both addresses may become one view, which keeps its list.
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    await open('#/account')
    const row = page.locator('.tokens li').filter({ hasText: 'CRM sync' })
    await row.getByText('last used').waitFor()
    expect(await page.content()).not.toContain(token.trim())
    await row.getByRole('button', { name: 'Revoke CRM sync' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await row.waitFor({ state: 'detached' })
    expect((await ask(app, 'GET', '/auth/me', { token: token.trim() })).status).toBe(401)
  })

  test('the theme that is chosen holds, regardless of the system', async () => {
    const { page } = seen
    await page.emulateMedia({ colorScheme: 'light' })
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const light = await ground()
    await page.getByRole('radio', { name: 'Dark theme' }).check({ force: true })
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.getByText('Up to date', { exact: true }).waitFor()
    expect(await ground()).toBe(dark)
    await page.getByRole('radio', { name: 'Theme of the system' }).check({ force: true })
    expect(await ground()).toBe(light)
  })

  test('a draft outlives a visit to another view', async () => {
    const { page } = seen
    await open('#/webhooks')
    await page.getByRole('switch', { name: 'call saved' }).first().click({ force: true })
    await open('#/live')
    await page.locator('.live-grid').waitFor()
    await open('#/webhooks')
    await page.getByText('Unsaved changes').waitFor()
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByText('Unsaved changes').waitFor({ state: 'detached' })
  })

  test('after the service was away the page comes back by itself, and its errors go', async () => {
    const { page } = seen
    await open('#/live')
    const figures = async () => (await page.locator('.figure dd').allTextContents()).slice(1, 4)
    await page.locator('.figure').first().waitFor()
    const before = await figures()
    await open('#/deliveries')
    await page.locator('tbody tr').first().waitFor()
    const port = new URL(app.url).port
    await app.stop()
    await page.getByText('Reconnecting…').waitFor()
    await page.getByRole('button', { name: 'Refresh' }).click()
    const error = page.getByRole('alert').filter({ hasText: 'Hookswitch does not answer' })
    await error.waitFor()
    app = await startServe({ cwd: folder.path, args: ['--listen', `127.0.0.1:${port}`] })
    await page.getByText('Up to date', { exact: true }).waitFor()
    await error.waitFor({ state: 'detached' })
    await open('#/live')
    // The figures of the last hour were saved.
    expect(before[1]).toMatch(/[1-9]/)
    expect(await figures()).toEqual(before)
  })

  test('a page that could not ask who is logged in asks again when it is connected', async () => {
    const { page } = seen
    for (const path of ['auth/me', 'stream']) await page.route(`**/${path}`, (route) => route.abort(), { times: 1 })
    await open('#/account')
    await page.reload()
    await page.locator('dd').filter({ hasText: EMAIL }).waitFor()
  })

  test('times are in the zone of the reader', async () => {
    const { page } = seen
    await open('#/calls')
    const started = page.locator('tbody time').first()
    const at = new Date((await started.getAttribute('datetime')) ?? '')
    const shown = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'Europe/Berlin' }).format(at)
    expect(await started.textContent()).toContain(shown)
  })

  test('the password is changed; logging out ends the token and shows the form', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Account' }).click()
    const form = page.getByRole('region', { name: 'Change the password' })
    const change = async (old: string) => {
      await form.getByLabel('Current password').fill(old)
      await form.getByLabel('New password', { exact: true }).fill('another one')
      await form.getByLabel('New password again').fill('another one')
      await form.getByRole('button', { name: 'Change password' }).click()
    }
    const before = await page.evaluate("sessionStorage.getItem('hookswitch.token')")
    await change('wrong password')
    await form.getByRole('alert').waitFor()
    await change(PASSWORD)
    await page.getByText('Password changed.').waitFor()
    // The page has a new token: the one before it must not stay behind.
    expect((await ask(app, 'GET', '/auth/me', { token: String(before) })).status).toBe(401)
    const current = await page.evaluate("sessionStorage.getItem('hookswitch.token')")
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    expect((await ask(app, 'GET', '/auth/me', { token: String(current) })).status).toBe(401)
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
  })

  test('who stays logged in is logged in in new tabs, and logged out in all of them', async () => {
    const { page } = seen
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill('another one')
    await page.getByLabel('Stay logged in').check()
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Up to date', { exact: true }).waitFor()
    const other = await page.context().newPage()
    await other.goto(app.url)
    await other.getByText('Up to date', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Log out' }).click()
    await other.getByText('You logged out in another tab.').waitFor()
    await other.close()
    expect(await page.evaluate("localStorage.getItem('hookswitch.token')")).toBeNull()
  })

  test('nothing came from another host, nothing was refused by the policy, and no script failed', () => {
    expect(seen.asked.filter((url) => !url.startsWith(`${app.url}/`))).toEqual([])
    expect(seen.faults).toEqual([])
  })
})
