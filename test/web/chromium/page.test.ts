import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import {
  accessibilityFaults,
  browserOfRun,
  CHROMIUM,
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

  const leave = async () => {
    await seen.page.getByRole('button', { name: /account default/ }).click()
    await seen.page.getByRole('menuitem', { name: 'Log out' }).click()
  }
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
    await page.locator('.shell[data-connection=up]').waitFor()
    await page.getByText('No call is up').waitFor()
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

  /** Opens the drawer of a webhook. */
  const openDrawer = async (url: string, name: string | RegExp = /./) => {
    const { page } = seen
    await open('#/webhooks')
    await page.getByRole('table', { name: 'Webhooks' }).waitFor()
    await open(`#/webhooks/${encodeURIComponent(url)}`)
    const drawer = page.getByRole('dialog', { name })
    await drawer.getByRole('button', { name: 'Save', exact: true }).waitFor()
    await drawer.getByLabel('Address', { exact: true }).waitFor()
    return drawer
  }
  const rowOf = (name: string) => seen.page.getByRole('row').filter({ hasText: name })
  const closed = () => seen.page.getByRole('dialog').waitFor({ state: 'detached' })

  test('webhooks are added; an error is shown beside its field', async () => {
    const { page } = seen
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('No webhooks yet').waitFor()
    for (const [url, change] of [
      [`${good.url}/crm`, undefined],
      [`${bad.url}/bot`, 'dial ended'],
    ] as const) {
      await page.getByRole('link', { name: 'Add webhook' }).first().click()
      const drawer = page.getByRole('dialog', { name: 'Add a webhook' })
      const address = drawer.getByLabel('Address', { exact: true })
      await address.fill('ftp://nowhere.example/')
      await drawer.getByRole('button', { name: 'Add webhook' }).click()
      await drawer.getByRole('alert').filter({ hasText: 'begins with https://' }).waitFor()
      expect(await address.getAttribute('aria-invalid')).toBe('true')
      expect(await accessibilityFaults(page)).toEqual([])
      await address.fill(url)
      if (change !== undefined) await drawer.getByRole('checkbox', { name: change }).uncheck()
      await drawer.getByRole('button', { name: 'Add webhook' }).click()
      await closed()
    }
    const token = await logIn(app, EMAIL)
    const { body } = await ask(app, 'GET', '/integration/webhook', { token })
    expect(body.result).toEqual([webhook(`${good.url}/crm`), webhook(`${bad.url}/bot`, { dial_ended: false })])
  })

  test("someone else's changes of the list are kept; the same option is asked for before it is replaced", async () => {
    const { page } = seen
    const token = await logIn(app, EMAIL)
    const drawer = await openDrawer(`${bad.url}/bot`)
    await drawer.getByRole('checkbox', { name: /^saved/ }).uncheck()
    await drawer.getByLabel('Name', { exact: true }).fill('Mine')
    const theirs = [webhook(`${good.url}/crm`, { dial_started: false }), webhook(`${bad.url}/bot`)]
    await ask(app, 'PUT', '/integration/webhook', { token, body: theirs })
    await ask(app, 'PUT', '/integration/webhook/options', { token, body: { url: `${bad.url}/bot`, name: 'Theirs' } })
    await drawer.getByRole('button', { name: 'Save', exact: true }).click()
    const question = page.getByRole('dialog', { name: 'Somebody else has changed it, too' })
    await question.getByText('has changed the name').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await question.getByRole('button', { name: 'Save mine' }).click()
    await closed()
    expect((await ask(app, 'GET', '/integration/webhook', { token })).body.result).toEqual([
      theirs[0],
      webhook(`${bad.url}/bot`, { call_saved: false }),
    ])
    const options = (await ask(app, 'GET', '/integration/webhook/options', { token })).body.result as { name: string }[]
    expect(options[1]?.name).toBe('Mine')
    await ask(app, 'PUT', '/integration/webhook', {
      token,
      body: [webhook(`${good.url}/crm`), webhook(`${bad.url}/bot`)],
    })
    await ask(app, 'PUT', '/integration/webhook/options', { token, body: { url: `${bad.url}/bot` } })
  })

  test('a test request is sent, and a hostile response is shown as text', async () => {
    const { page } = seen
    const drawer = await openDrawer(`${good.url}/crm`)
    await drawer.getByRole('button', { name: 'Send a test' }).click()
    await drawer.getByText('response 200').waitFor()
    await drawer.getByText(HOSTILE_RESPONSE).waitFor()
    expect(await page.evaluate('window.taken')).toBeUndefined()
    await page.keyboard.press('Escape')
    await closed()
    expect(JSON.parse(good.received.at(-1)?.body ?? '').data.name).toBe('test')
  })

  test('the secret is shown, and rotated', async () => {
    const { page } = seen
    const drawer = await openDrawer(`${good.url}/crm`)
    await drawer.getByText('Signing secret').click()
    await drawer.getByRole('button', { name: 'Show', exact: true }).click()
    const before = await drawer.locator('output').textContent()
    expect(before).toStartWith('whsec_')
    await drawer.getByRole('button', { name: 'Rotate' }).click()
    await page.getByRole('dialog', { name: 'Rotate this secret?' }).getByRole('button', { name: 'Rotate' }).click()
    await drawer.getByText('also signs until').waitFor()
    expect(await drawer.locator('output').textContent()).not.toBe(before)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await closed()
  })

  test("options are set, with an error beside its field and a preview of the receiver's request", async () => {
    const { page } = seen
    const drawer = await openDrawer(`${good.url}/crm`)
    const save = () => drawer.getByRole('button', { name: 'Save', exact: true }).click()
    await drawer.getByLabel('Name', { exact: true }).fill('Our CRM')
    await drawer.getByRole('checkbox', { name: /^missed/ }).check()
    await drawer.getByLabel('Body', { exact: true }).selectOption('slack')
    await drawer.getByText('"plain_text"').first().waitFor()
    await drawer.getByLabel('Body', { exact: true }).selectOption('template')
    await drawer.getByLabel('Template').fill('{{ data.name')
    await drawer.getByText(/^line 1, column 1: /).waitFor()
    await drawer.getByLabel('Body', { exact: true }).selectOption('default')
    await drawer.getByText('Only some calls').click()
    await drawer.getByLabel('direction').fill('incoming')
    // Saving needs no scrolling: the wrong field comes into sight and gets the focus.
    await save()
    await drawer.getByText('incoming matches no event').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('filter/direction')
    await drawer.getByLabel('direction').fill('inbound, outbound, internal')
    await drawer.getByText('Headers', { exact: true }).click()
    await drawer.getByRole('button', { name: 'Add a header' }).click()
    await drawer.getByLabel('Name of header 1').fill('Host')
    await save()
    await drawer.getByText('Host is a header that cannot be set here').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await drawer.getByLabel('Name of header 1').fill('X-Api-Key')
    await drawer.getByLabel('Value of header 1').fill('secret')
    await save()
    await closed()
    const again = await openDrawer(`${good.url}/crm`, 'Our CRM')
    expect(await again.getByLabel('Name', { exact: true }).inputValue()).toBe('Our CRM')
    // What is set is seen without opening anything.
    await again.getByText('inbound or outbound or internal').waitFor()
    await again.getByText('x-api-key').waitFor()
    expect(await again.getByRole('checkbox', { name: /^missed/ }).isChecked()).toBe(true)
    expect(await again.getByRole('checkbox', { name: /^held/ }).isChecked()).toBe(false)
    await page.keyboard.press('Escape')
    await closed()
    for (const [action, shown] of [
      ['Pause', 'paused'],
      ['Resume', /^(up|new)$/],
    ] as const) {
      await rowOf('Our CRM').getByRole('button', { name: 'More for Our CRM' }).click()
      await page.getByRole('menuitem', { name: action }).click()
      await rowOf('Our CRM').getByText(shown).waitFor()
    }
  })

  test('a filter that keeps a whole kind of event away is said where it is set, and so is an event that is not chosen', async () => {
    const { page } = seen
    const drawer = await openDrawer(`${good.url}/crm`, 'Our CRM')
    await drawer.getByLabel('Event of the preview').selectOption('agent_changed')
    await drawer.getByText('This event is not sent to this webhook, because it is not chosen above.').waitFor()
    await drawer.getByRole('checkbox', { name: /^agent changed/ }).check()
    await drawer
      .getByText(
        'This event is not sent to this webhook, because the filter asks for a direction, which agent changed does not have.',
      )
      .waitFor()
    await drawer.getByText('agent changed: never sent, because the filter asks for a direction').waitFor()
    await drawer.getByLabel('Event of the preview').selectOption('call_ended')
    await drawer.getByText('This event is not sent').waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')
    // Something was changed: it asks.
    await page.getByRole('dialog', { name: 'Discard the changes?' }).getByRole('button', { name: 'Discard' }).click()
    await closed()
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
    const board = page.getByRole('region', { name: 'Calls now' })
    await board.getByText(HOSTILE_NAME).first().waitFor()
    expect(await page.locator('#x').count()).toBe(0)
    await board.getByText(/^rings .*101/).waitFor()
    goOn()
    await board.getByText(/^talks to .*101/).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    goOn()
    await board.getByText(/^talks to .*102.* · 1 transfer/).waitFor()
    goOn()
    await board.getByText('No call is up').waitFor()
    const events = page.getByRole('region', { name: 'Latest events' })
    await events.getByText('call saved').first().waitFor()
    await events.getByText('call blind transferred').first().waitFor()
    await until('every event arrived', () => new Set(good.received.slice(1).map((one) => one.id)).size === 10)
  })

  test('the call is in the records, with a timeline and its deliveries', async () => {
    const { page } = seen
    await open('#/calls')
    await page.getByRole('link', { name: HOSTILE_NAME }).click()
    await page.getByRole('img', { name: 'inbound call from' }).waitFor()
    expect(await page.locator('.lane rect.ring').count()).toBe(2)
    expect(await page.locator('.lane rect.talk').count()).toBe(3)
    const story = page.getByRole('region', { name: 'What happened' })
    await story.getByText('10 events').waitFor()
    await story.getByText(/ transfers to .*102/).waitFor()
    await until('each line says what became of its events', async () => {
      const lines = await story.locator('.story > li').count()
      return (
        lines > 5 &&
        (await story
          .locator('.story > li')
          .filter({ has: page.locator('.sent a') })
          .count()) === lines
      )
    })
    // The JSON of a line is beside it.
    await story.getByRole('button', { name: / calls / }).click()
    await page.getByRole('heading', { name: 'call started' }).waitFor()
    await page.getByRole('region', { name: 'the JSON' }).getByText('"call_started"').waitFor()
    await page.getByRole('radio', { name: 'Record' }).check({ force: true })
    await page.getByRole('region', { name: 'the JSON' }).getByText('"stages"').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
  })

  test('a failing receiver is shown as down, and after it recovers everything is delivered', async () => {
    const { page } = seen
    await open('#/webhooks')
    const row = rowOf(`${bad.url}/bot`.replace('http://', ''))
    await row.getByText(/^down \d/).waitFor()
    expect(await row.locator('.warn').textContent()).toMatch(/^\d+$/)
    expect(await accessibilityFaults(page)).toEqual([])
    await open('#/live')
    const wrong = page.getByRole('alert', { name: 'What is wrong' })
    await wrong.getByText(/is down/).waitFor()
    await wrong.getByText('503 Service Unavailable').waitFor()
    expect(await page.getByRole('link', { name: 'Webhooks' }).first().textContent()).toContain('1')
    bad.answerWith(() => new Response('ok'))
    await open('#/webhooks')
    await row.getByText('up', { exact: true }).waitFor()
    await row.locator('.warn').waitFor({ state: 'detached' })
    const token = await logIn(app, EMAIL)
    const { body } = await ask(app, 'GET', '/integration/delivery?state=pending', { token })
    expect(body.result).toEqual({ items: [], next_cursor: null })
  })

  test('a delivery is found, opened and sent again', async () => {
    const { page } = seen
    await open('#/deliveries')
    await page.getByRole('radio', { name: 'Delivered' }).check({ force: true })
    // The first event was certainly refused: later ones perhaps waited until the receiver was back.
    await page.getByLabel('Event', { exact: true }).selectOption('call_started')
    await page.getByLabel('Webhook', { exact: true }).selectOption(`${bad.url}/bot`)
    await page.waitForFunction(() => document.querySelectorAll('table tbody tr:not(.day, .bones)').length === 1)
    await page.locator('tbody tr').last().getByRole('link', { name: 'call started' }).click()
    await page.getByRole('heading', { name: /^call started/ }).waitFor()
    await page.getByText('503').first().waitFor()
    await page.getByRole('region', { name: 'the body' }).getByText(HOSTILE_NAME).waitFor()
    await page.getByRole('radio', { name: 'curl' }).check({ force: true })
    await page.getByRole('region', { name: 'the curl command' }).getByText('webhook-signature: v1,').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const before = bad.received.length
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('The delivery is being sent again.').waitFor()
    await until('it was sent again', () => bad.received.length === before + 1)
    const ids = bad.received.map((one) => one.id)
    expect(ids.slice(0, -1)).toContain(ids.at(-1) ?? '')
  })

  test('deliveries say who calls whom, and are found by the number of their call and by the end of its id', async () => {
    const { page } = seen
    await open('#/deliveries')
    const rows = page.locator('tbody tr:not(.day, .bones)')
    await rows
      .first()
      .getByText(/ calls /)
      .waitFor()
    const address =
      (await rows
        .first()
        .getByRole('link', { name: / calls / })
        .getAttribute('href')) ?? ''
    const shortId = decodeURIComponent(address).slice(-8)
    const search = page.getByLabel('Number, id or path=value')
    await search.fill(shortId)
    await page.waitForURL(/q=/)
    await rows.first().waitFor()
    await until('all are of this call', async () => {
      const links = await rows.getByRole('link', { name: / calls / }).all()
      const addresses = await Promise.all(links.map((link) => link.getAttribute('href')))
      return addresses.length > 0 && addresses.every((one) => one === address)
    })
    await search.fill('15551230001')
    await page.waitForURL(/q=15551230001/)
    await rows.first().waitFor()
    await search.fill('call.from.number=15551230001')
    await page.waitForURL(/call.from.number/)
    await rows.first().waitFor()
    // They could only be sent again together with others.
    expect(await page.getByRole('button', { name: 'Send all failed' }).count()).toBe(0)
    await search.fill('15551239999')
    await page.getByText('No delivery is like that').waitFor()
    await page.getByRole('link', { name: 'Show all' }).click()
    await rows.first().waitFor()
  })

  test('a filter that changes while another one is typed stays', async () => {
    const { page } = seen
    await open('#/deliveries')
    await page.getByLabel('Number, id or path=value').waitFor()
    // The search for typed text begins after a pause; the state is chosen within it.
    await page.evaluate(`new Promise((resolve) => {
      const search = document.querySelector('input[type=search]')
      search.value = '15551230001'
      search.dispatchEvent(new Event('input', { bubbles: true }))
      const delivered = [...document.querySelectorAll('.tabs label')].find((one) => one.textContent === 'Delivered')
      requestAnimationFrame(() => setTimeout(() => resolve(delivered.click()), 20))
    })`)
    await page.waitForURL(/q=15551230001/)
    expect(page.url()).toContain('state=delivered')
  })

  test('calls are found by a name, an outcome and a day; their counts follow, and all of them are a file', async () => {
    const { page } = seen
    await open('#/calls')
    const rows = page.getByRole('table', { name: 'Calls' }).locator('tbody tr:not(.day, .bones)')
    await rows.first().waitFor()
    const tabs = page.getByRole('group', { name: 'Outcome' })
    await tabs.getByText(/^All[1-9]/).waitFor()
    await page.getByLabel('Number, name or extension').fill('nobody has this name')
    await page.getByText('No call is like that').waitFor()
    await page.getByLabel('Number, name or extension').fill(HOSTILE_NAME.toUpperCase())
    await rows.first().waitFor()
    await tabs.getByText('Missed').click()
    await page.waitForURL(/outcome=missed/)
    await page.getByText('No call is like that').waitFor()
    await open('#/calls?range=dates&from=2020-01-01&to=2020-01-02')
    await page.getByText('No calls in this time').waitFor()
    await open('#/calls?range=today')
    await rows.first().waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    const file = await (await download).path()
    const lines = readFileSync(file, 'utf8').split('\r\n')
    expect(lines[0]).toStartWith('pbx,call_id,')
    expect(lines[1]).toContain(HOSTILE_NAME)
  })

  test('new deliveries are counted above the list while it is read, and shown on request', async () => {
    const { page } = seen
    await open('#/live')
    await open('#/deliveries')
    const rows = page.locator('tbody tr:not(.day, .bones)')
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
    await page.waitForFunction(
      (href) => document.querySelector('tbody tr:not(.day, .bones) a')?.getAttribute('href') !== href,
      before,
    )
  })

  test('a webhook has its last hour, minute by minute', async () => {
    const { page } = seen
    const drawer = await openDrawer(`${bad.url}/bot`)
    await drawer.getByText(/\d+ delivered, [1-9]\d* failed attempts/).waitFor()
    await drawer.getByRole('img', { name: 'Answers in each minute of the last hour' }).waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.keyboard.press('Escape')
    await closed()
  })

  test('a delivery to a webhook that is down is retried at once, as its probe, and the probes are named', async () => {
    const { page } = seen
    await open('#/webhooks')
    bad.answerWith(() => new Response('not now', { status: 503, headers: { 'retry-after': '3600' } }))
    const next = startReplay({ files: [hostileRecording(folder.path)], speed: 20 })
    gate.open(next.port)
    await replay.stop()
    replay = next
    const row = rowOf(`${bad.url}/bot`.replace('http://', ''))
    await row.getByText(/^down \d/).waitFor()
    await replay.finished
    const before = bad.received.length
    await openDrawer(`${bad.url}/bot`)
    await page.getByRole('dialog').getByRole('button', { name: 'Try now' }).click()
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
    const drawer = await openDrawer(`${bad.url}/bot`)
    await drawer.getByRole('button', { name: 'Send a test' }).click()
    await drawer.getByText('Received').waitFor()
    await page.keyboard.press('Escape')
    await closed()
    await row.getByText('up', { exact: true }).waitFor()
    await row.locator('.warn').waitFor({ state: 'detached' })
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
    const newest = page
      .getByRole('region', { name: 'Latest events' })
      .getByRole('row')
      .filter({ hasText: 'call saved' })
      .first()
    await newest.getByRole('link', { name: /pending.*Our CRM.*waits/ }).waitFor()
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
        ['#/live', '.figures'],
        ['#/webhooks', '.table'],
        [`#/webhooks/${encodeURIComponent(`${bad.url}/bot`)}`, '.drawer .events'],
        ['#/webhooks/new', '.drawer .tiles'],
        ['#/deliveries', '.table tbody tr:not(.bones)'],
        ['#/phones', '.table tbody tr:not(.bones)'],
        ['#/calls', '.table tbody tr:not(.bones)'],
        ['#/account', '.table'],
        ['#/more', '.more-list'],
        ['#/nowhere', '.head'],
      ] as const) {
        await open(hash)
        await page.locator(landmark).first().waitFor()
        expect([hash, await accessibilityFaults(page)]).toEqual([hash, []])
        expect([hash, await overflowOf(page)]).toEqual([hash, 0])
        expect([hash, await overlappingCells(page)]).toEqual([hash, []])
      }
    },
  )

  test('the keyboard alone gets everywhere: the skip button, three stops in a row, a drawer, and back to its row', async () => {
    const { page } = seen
    await page.setViewportSize(WIDTHS.desktop)
    await open('#/webhooks')
    await rowOf('Our CRM').waitFor()
    await page.reload()
    await rowOf('Our CRM').waitFor()
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Skip to the content')
    await page.keyboard.press('Enter')
    const stops = await rowOf('Our CRM').locator('a, button, input').count()
    expect(stops).toBeLessThanOrEqual(3)
    const link = rowOf('Our CRM').getByRole('link')
    await link.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Our CRM' }).getByLabel('Address', { exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await closed()
    expect(await link.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)
  })

  test('beside a wide list the drawer is docked, and the list stays usable', async () => {
    const { page } = seen
    await page.setViewportSize({ width: 1_680, height: 900 })
    await openDrawer(`${good.url}/crm`, 'Our CRM')
    expect(await rowOf('Our CRM').first().getAttribute('class')).toContain('current')
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByLabel('Name, address or event').fill('CRM')
    await page.getByText('1 of 2').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await closed()
    await page.setViewportSize(WIDTHS.desktop)
  })

  test('few characters are bold, and nothing has another weight than 400, 500 and 600', async () => {
    const { page } = seen
    for (const [hash, landmark, atMost] of [
      ['#/webhooks', '.table tbody tr:not(.bones)', 0.05],
      ['#/calls', '.table tbody tr:not(.bones)', 0.05],
      ['#/deliveries', '.table tbody tr:not(.bones)', 0.05],
      ['#/live', '.figures', 0.12],
      ['#/account', '.table', 0.12],
    ] as const) {
      await open(hash)
      await page.locator(landmark).first().waitFor()
      const share = await page.evaluate(() => {
        const walker = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT)
        let all = 0
        let bold = 0
        while (walker.nextNode()) {
          const { textContent, parentElement } = walker.currentNode
          const length = textContent?.trim().length ?? 0
          const weight = parentElement === null ? 400 : Number(getComputedStyle(parentElement).fontWeight)
          if (![400, 500, 600].includes(weight)) return 1
          all += length
          if (weight >= 600) bold += length
        }
        return bold / Math.max(1, all)
      })
      expect([hash, share <= atMost]).toEqual([hash, true])
    }
  })

  test('an address that leads nowhere says so', async () => {
    const { page } = seen
    await open('#/nowhere')
    await page.getByText('There is no such view').waitFor()
  })

  test('an API token is made, shown once, and revoked', async () => {
    const { page } = seen
    await open('#/account')
    await page.getByLabel('New API token, for').fill('CRM sync')
    await page.getByRole('checkbox', { name: 'It may make calls' }).check()
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
    const row = page.getByRole('row').filter({ hasText: 'CRM sync' })
    await row.getByText('API token, may make calls').waitFor()
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
    const choose = async (name: string) => {
      await page.getByRole('button', { name: /^A. Tester|account default/ }).click()
      await page.getByRole('menuitemradio', { name }).click()
    }
    await choose('Dark theme')
    const dark = await ground()
    expect(dark).not.toBe(light)
    await page.reload()
    await page.locator('.shell[data-connection=up]').waitFor()
    expect(await ground()).toBe(dark)
    await choose('Theme of the system')
    expect(await ground()).toBe(light)
  })

  test('after the service was away the page comes back by itself, and its errors go', async () => {
    const { page } = seen
    await open('#/live')
    await page.getByText(/^of [\d,]+ attempts$/).waitFor()
    const before = await page.locator('.figures > div').nth(3).locator('small').textContent()
    await open('#/deliveries')
    await page.locator('tbody tr').first().waitFor()
    const port = new URL(app.url).port
    await app.stop()
    await page.getByText('Reconnecting…').waitFor()
    await page.getByRole('radio', { name: 'Failed' }).check({ force: true })
    const error = page.getByRole('alert').filter({ hasText: 'Hookswitch does not answer' })
    await error.waitFor()
    app = await startServe({ cwd: folder.path, args: ['--listen', `127.0.0.1:${port}`] })
    await page.locator('.shell[data-connection=up]').waitFor()
    await error.waitFor({ state: 'detached' })
    await open('#/live')
    // The figures of the last hour were saved. They are read minute by minute, while the page is served already.
    await page.getByText(before ?? 'no figures', { exact: true }).waitFor()
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
    const shown = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'Europe/Berlin' }).format(at)
    expect(await started.textContent()).toContain(shown)
  })

  test('the password is changed; logging out ends the token and shows the form', async () => {
    const { page } = seen
    await open('#/account')
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
    await leave()
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
    await page.locator('.shell[data-connection=up]').waitFor()
    const other = await page.context().newPage()
    await other.goto(app.url)
    await other.locator('.shell[data-connection=up]').waitFor()
    await leave()
    await other.getByText('You logged out in another tab.').waitFor()
    await other.close()
    expect(await page.evaluate("localStorage.getItem('hookswitch.token')")).toBeNull()
  })

  test('nothing came from another host, nothing was refused by the policy, and no script failed', () => {
    expect(seen.asked.filter((url) => !url.startsWith(`${app.url}/`))).toEqual([])
    expect(seen.faults).toEqual([])
  })
})
