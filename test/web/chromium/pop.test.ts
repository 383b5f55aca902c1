import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Frame, Page } from 'playwright-core'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import {
  accessibilityFaults,
  browserOfRun,
  CHROMIUM,
  inBackground,
  overflowOf,
  type Visit,
  visit,
} from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const EMAIL = 'ada@example.com'
const CALLER = '15551230001'
/** In the recording 101, 102 and 103 ring from 1 s on, and 102 talks from 4 s to 8 s. */
const [RINGING_MS, TALKING_MS] = [2_000, 6_000]

/** A site of another origin, which has an address in a frame. */
function startSite() {
  const site = Bun.serve({
    port: 0,
    fetch(request) {
      const shown = new URL(request.url).searchParams.get('show') ?? ''
      const html = `<!doctype html><title>A CRM</title><iframe width="360" height="500" src="${Bun.escapeHTML(shown)}"></iframe>`
      return new Response(html, { headers: { 'content-type': 'text/html' } })
    },
  })
  return { origin: `http://localhost:${site.port}`, stranger: `http://127.0.0.1:${site.port}`, stop: () => site.stop() }
}

/** The CRM that knows the caller. */
function startCrm() {
  const crm = Bun.serve({
    port: 0,
    fetch: (request) =>
      request.url.includes(CALLER)
        ? Response.json({ name: 'Carla Caller', company: 'Example GmbH', url: 'https://crm.example.com/contacts/4711' })
        : new Response(null, { status: 404 }),
  })
  return { url: `http://127.0.0.1:${crm.port}`, stop: () => crm.stop() }
}

describe.skipIf(CHROMIUM === undefined)('the pop page, in a browser (needs chromium)', () => {
  const folder = emptyFolder()
  const site = startSite()
  const crm = startCrm()
  const [begin, answer, end] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
  const before = startReplay({ files: [fixture('h-ring-group.ami')], speed: 50 })
  const replay = startReplay({
    files: [fixture('h-ring-group.ami')],
    speed: 20,
    after: begin.promise,
    holds: [
      { atMs: RINGING_MS, until: answer.promise },
      { atMs: TALKING_MS, until: end.promise },
    ],
  })
  let app: RunningApp
  let session: string
  let seen: Visit
  let frame: Frame
  const visits: Visit[] = []

  beforeAll(async () => {
    app = await startServe({
      cwd: folder.path,
      args: ['--allow-net', 'loopback', '--frame-ancestors', site.origin].concat(
        ['--pbx', `${before.url}?name=before`],
        ['--pbx', `${replay.url}?name=office&calls=caller:secret`],
      ),
    })
    await addUser(folder.path, EMAIL)
    session = await logIn(app, EMAIL)
    await until('there is a past call', async () => {
      const { body } = await ask(app, 'GET', '/call', { token: session })
      return Object(body.result).items.length > 0
    })
    const contacts = {
      url: `${crm.url}/?phone={{ number }}`,
      spellings: ['digits'],
      fields: { name: '/name', company: '/company', url: '/url' },
    }
    expect((await ask(app, 'PUT', '/integration/contacts', { token: session, body: contacts })).status).toBe(200)
  })
  afterAll(async () => {
    for (const { page } of visits) await page.context().close()
    await app?.stop()
    await Promise.all([before.stop(), replay.stop(), site.stop(), crm.stop()])
    folder[Symbol.dispose]()
  })

  async function open(options: Parameters<typeof visit>[1] = {}): Promise<Visit> {
    const one = await visit(await browserOfRun(), options)
    visits.push(one)
    return one
  }
  async function newPop(rights: object): Promise<string> {
    const body = { name: 'crm', pop: true, ...rights }
    return Object((await ask(app, 'POST', '/auth/token', { token: session, body })).body.result).access_token
  }
  const card = (of: Page | Frame, name = 'Call: Carla Caller') => of.getByRole('article', { name, exact: true })

  test('is shown in a frame of the site that may have it, without the token in any address', async () => {
    const token = await newPop({ extension: '101', calls: true })
    seen = await open({ viewport: { width: 390, height: 700 }, colorScheme: 'light' })
    const address = `${app.url}/pop?extension=101#token=${token}`
    await seen.page.goto(`${site.origin}/?show=${encodeURIComponent(address)}`)
    frame = seen.page.frames()[1] ?? expect.unreachable()
    await frame.getByText('No call now').waitFor()
    await frame.getByRole('heading', { name: 'Calls of 101' }).waitFor()
    expect(frame.url()).toBe(`${app.url}/pop?extension=101`)
    const own = seen.asked.filter((url) => url.startsWith(app.url))
    expect(own.filter((url) => url.includes(token.slice(0, 20)) && !url.includes('#'))).toEqual([])
    expect(own.some((url) => url.endsWith('/stream?extension=101'))).toBe(true)
    // The browser denies notices in the frame of another site: they are not offered.
    expect(await frame.getByRole('button', { name: 'Notify me' }).count()).toBe(0)
  })

  test('no other site can have it in a frame, and no site another page', async () => {
    const { page } = await open()
    for (const [place, path] of [
      [site.stranger, '/pop'],
      [site.origin, '/'],
      [site.origin, '/help'],
    ] as const) {
      await page.goto(`${place}/?show=${encodeURIComponent(app.url + path)}`)
      await until('the frame is refused', () => page.frames()[1]?.url().startsWith('chrome-error:') === true)
    }
    await page.goto(`${site.origin}/?show=${encodeURIComponent(`${app.url}/pop`)}`)
    await page.frames()[1]?.getByLabel('E-mail').waitFor()
  })

  test('shows who calls while it rings, with the contact, and the last calls with that number', async () => {
    const hidden = await open({ permissions: ['notifications'] })
    await hidden.page.addInitScript(() => {
      const shown: string[] = []
      Object.assign(window, {
        shown,
        Notification: class {
          static permission = 'granted'
          constructor(title: string, { body }: { body: string }) {
            shown.push(`${title} (${body})`)
          }
          close() {
            shown.push('closed')
          }
        },
      })
    })
    await hidden.page.goto(`${app.url}/pop?extension=103#token=${await newPop({ extension: '103' })}`)
    await hidden.page.getByText('No call now').waitFor()
    await inBackground(hidden.page)
    const stranger = await open()
    await stranger.page.goto(`${app.url}/pop?extension=999#token=${await newPop({ extension: '999' })}`)
    await stranger.page.getByText('No call now').waitFor()

    begin.resolve()
    await card(frame).getByText('rings').waitFor()
    await card(frame).getByText('Example GmbH').waitFor()
    expect(await card(frame).getByRole('link', { name: 'Open in the CRM' }).getAttribute('href')).toBe(
      'https://crm.example.com/contacts/4711',
    )
    await card(frame).getByRole('list', { name: 'The last calls with this number' }).getByRole('listitem').waitFor()
    expect(await frame.title()).toBe('Carla Caller calls')
    const shownTo = () => hidden.page.evaluate(() => Object(window).shown as string[])
    await until('the notice is shown', async () => (await shownTo()).length > 0)
    expect(await shownTo()).toEqual([`Carla Caller calls (${CALLER}, Example GmbH)`])
    expect(await card(stranger.page).count()).toBe(0)
  })

  test('fits a window, a frame and a phone, in both themes, and is accessible', async () => {
    const { page } = await open({ permissions: ['notifications'] })
    const token = await newPop({ extension: '102', calls: true })
    await page.goto(`${app.url}/pop?extension=102#token=${token}&call=+49 (30) 123`)
    await card(page).getByText('Example GmbH').waitFor()
    await page.getByRole('button', { name: 'Call +4930123', exact: true }).waitFor()
    for (const colorScheme of ['light', 'dark'] as const)
      for (const width of [320, 390, 640]) {
        await page.emulateMedia({ colorScheme })
        await page.setViewportSize({ width, height: 640 })
        expect([width, colorScheme, await accessibilityFaults(page)]).toEqual([width, colorScheme, []])
        expect([width, await overflowOf(page)]).toEqual([width, 0])
      }
  })

  test('a colleague answers: the call goes, and says who has it; whoever talks has it until its end', async () => {
    const { page } = visits.at(-1) ?? expect.unreachable()
    answer.resolve()
    await card(frame, 'Last call: Carla Caller').getByText('talks to Phone 102').waitFor()
    expect(await card(frame).count()).toBe(0)
    await frame.getByText('No call now').waitFor()
    await card(page).getByText('talks').waitFor()
    const hidden = visits.at(-3) ?? expect.unreachable()
    await until('the notice is closed', async () =>
      ((await hidden.page.evaluate(() => Object(window).shown)) as string[]).includes('closed'),
    )
  })

  test('a call is made by a press of its button alone, from the extension, and its answer is said', async () => {
    const { page } = visits.at(-1) ?? expect.unreachable()
    const sent: unknown[] = []
    await page.route('**/call', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      sent.push(route.request().postDataJSON())
      const answered = { status: 'success', code: 200, message: '', result: { request_id: 'r', call_id: null } }
      return sent.length === 1
        ? route.fulfill({
            status: 409,
            json: { ...answered, code: 409, message: 'The phone 102 is busy.', result: [] },
          })
        : route.fulfill({ json: answered })
    })
    const button = page.getByRole('button', { name: 'Call +4930123', exact: true })
    await button.click()
    await page.getByText('The phone 102 is busy.').waitFor()
    await button.click()
    await page.getByText('Your phone rings').waitFor()
    expect(sent).toEqual([
      { from: '102', to: '+4930123' },
      { from: '102', to: '+4930123' },
    ])
    await page.unroute('**/call')
    end.resolve()
    await card(page, 'Last call: Carla Caller').getByText('answered by').first().waitFor()
    await card(page, 'Last call: Carla Caller')
      .getByRole('button', { name: `Call ${CALLER}`, exact: true })
      .waitFor()
  })

  test('a token without the right to calls shows no button', async () => {
    const { page } = await open()
    await page.goto(`${app.url}/pop?extension=102#token=${await newPop({ extension: '102' })}&call=%2B4930123`)
    await page.getByText('No calls can be made from here.').waitFor()
    expect(await page.getByRole('button', { name: /^Call/ }).count()).toBe(0)
  })

  test('a browser that refuses to keep anything shows it, too', async () => {
    const blocked = await open()
    await blocked.page.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException('Access is denied', 'SecurityError')
          },
        })
    })
    await blocked.page.goto(`${app.url}/pop?extension=101#token=${await newPop({ extension: '101' })}`)
    await blocked.page.getByText('No call now').waitFor()
    expect(blocked.faults).toEqual([])
  })

  test('the token stays over a reload, is no log-in of the other pages, and its end leads to the log-in', async () => {
    const { page, faults } = await open()
    const made = await ask(app, 'POST', '/auth/token', { token: session, body: { name: 'x', pop: true } })
    const { id, access_token: token } = Object(made.body.result)
    await page.goto(`${app.url}/pop#token=${token}`)
    await page.getByText('No call now').waitFor()
    await page.reload()
    await page.getByText('No call now').waitFor()
    const other = await page.context().newPage()
    await other.goto(app.url)
    await other.getByLabel('E-mail').waitFor()
    await page.goto(app.url)
    await page.getByLabel('E-mail').waitFor()
    await page.goto(`${app.url}/pop`)
    await page.getByText('No call now').waitFor()
    await ask(app, 'DELETE', `/auth/token/${id}`, { token: session })
    await page.getByText('This link is no longer valid').waitFor()
    expect(faults).toEqual([])
  })

  test('after a log-in it asks for the extension once', async () => {
    const { page, faults } = await open({ viewport: { width: 390, height: 700 } })
    await page.goto(`${app.url}/pop`)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByLabel('Your extension').fill('102')
    await page.getByRole('button', { name: 'Show its calls' }).click()
    await page.getByRole('heading', { name: 'Calls of 102' }).waitFor()
    expect(page.url()).toEndWith('/pop?extension=102')
    expect(faults).toEqual([])
  })

  test('its link is made with the token, on the page', async () => {
    const { page, faults } = await open({ viewport: { width: 1_280, height: 800 } })
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    await page.goto(`${app.url}/#/account`)
    await page.getByLabel('New API token, for').fill('Front desk')
    await page.getByRole('checkbox', { name: 'It is for the pop page alone' }).check()
    await page.getByLabel('Only the calls of the extension').fill('102')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const link = page.getByText(/\/pop\?extension=102#token=hks_[\w-]{43}$/)
    await link.waitFor()
    await page.getByRole('row').filter({ hasText: 'Front desk' }).getByText('pop page of 102').waitFor()
    const window = await page.context().newPage()
    await window.goto((await link.textContent()) ?? '')
    await window.getByRole('heading', { name: 'Calls of 102' }).waitFor()
    expect(faults).toEqual([])
  })
})

type Gate = PromiseWithResolvers<void>
