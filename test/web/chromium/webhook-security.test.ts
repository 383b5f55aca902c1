import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { certify, newAuthority } from '../../help/certificate.ts'
import { ask, newToken, PASSWORD, webhook } from '../../help/client.ts'

const HTTPS = 'https://crm.example.com/calls'
const BROKER = 'mqtts://broker.example.com/calls/{event}'

/** Certificates, authorization and discovery: what is set on the page, what the API then has, and what is read back. */
describe.skipIf(CHROMIUM === undefined)("a webhook's certificates and tokens on the page (needs chromium)", () => {
  const authority = newAuthority('Example authority')
  const client = certify(['hookswitch'], authority)
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let token: string
  let seen: Visit
  beforeAll(async () => {
    folder = emptyFolder()
    app = await startServe({ cwd: folder.path })
    token = await newToken(app, 'ada@example.com')
    const list = [HTTPS, BROKER].map((url) => webhook(url))
    expect((await ask(app, 'PUT', '/integration/webhook', { token, body: list })).status).toBe(200)
    seen = await visit(await browserOfRun(), { viewport: { width: 1_280, height: 900 } })
    const { page } = seen
    await page.goto(`${app.url}/#/webhooks`)
    await page.getByLabel('E-mail').fill('ada@example.com')
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('table', { name: 'Webhooks' }).waitFor()
  })
  afterAll(async () => {
    await seen?.page.context().close()
    await app?.stop()
    folder?.[Symbol.dispose]()
  })

  const drawer = () => seen.page.getByRole('dialog')
  const field = (label: string) => drawer().getByLabel(label, { exact: true })
  const fold = (title: string) =>
    drawer()
      .locator('.fold')
      .filter({ has: seen.page.getByText(title, { exact: true }) })
  const open = async (url: string, ...folds: string[]) => {
    // A drawer that is open with changes is another one than that which opens next.
    await seen.page.goto(`${app.url}/#/webhooks`)
    await drawer().waitFor({ state: 'detached' })
    await seen.page.goto(`${app.url}/#/webhooks/${encodeURIComponent(url)}`)
    await field('Name').waitFor()
    for (const title of folds) await fold(title).locator('summary').click()
  }
  const press = () => drawer().getByRole('button', { name: 'Save', exact: true }).click()
  const save = async () => {
    await press()
    await drawer().waitFor({ state: 'detached' })
  }
  const stored = async (url: string) => {
    const all = (await ask(app, 'GET', '/integration/webhook/options', { token })).body.result as { url: string }[]
    return all.find((one) => one.url === url)
  }

  test('a client certificate with its key and authorities is saved, and the key is not shown again', async () => {
    await open(HTTPS, 'Certificates')
    await field('Client certificate').fill(client.cert)
    await field('Its private key').fill(client.key)
    await field('Certificate authorities').fill(authority.pem)
    await save()
    const tls = { certificate: client.cert, key: null, ca: authority.pem }
    expect(await stored(HTTPS)).toMatchObject({ tls })
    await open(HTTPS)
    await fold('Certificates').getByText('client certificate, own authority').waitFor()
    await fold('Certificates').locator('summary').click()
    expect(await field('Client certificate').inputValue()).toBe(client.cert)
    expect(await field('Its private key').inputValue()).toBe('')
    expect(await seen.page.content()).not.toContain(client.key.split('\n')[1] ?? 'a key')
    // What is saved without typing the key again keeps it.
    await field('Certificate authorities').fill('')
    await save()
    expect(await stored(HTTPS)).toMatchObject({ tls: { ...tls, ca: null } })
  })

  test('a text that is no certificate, and the key of another one, have their errors at their fields', async () => {
    await open(HTTPS, 'Certificates')
    await field('Certificate authorities').fill('none')
    await field('Its private key').fill(certify(['another']).key)
    await press()
    await drawer()
      .getByText(/^The text must be a certificate in PEM/)
      .waitFor()
    await drawer().getByText('The key is not the key of this certificate.').waitFor()
    for (const label of ['Certificate authorities', 'Its private key'])
      expect([label, await field(label).getAttribute('aria-invalid')]).toEqual([label, 'true'])
    expect(await accessibilityFaults(seen.page, ['dialog'])).toEqual([])
  })

  test('OAuth 2.0 says what is missing at its field, is saved, and keeps its secret', async () => {
    await open(HTTPS, 'Authorization')
    await drawer().getByText('OAuth 2.0', { exact: true }).click()
    await field('Token URL').fill('login.example.com')
    await field('Client id').fill('hookswitch')
    await press()
    await drawer().getByText('The token URL must be an absolute http: or https: URL.').waitFor()
    await field('Token URL').fill('https://login.example.com/token')
    await press()
    await drawer()
      .getByText(/^The client secret /)
      .waitFor()
    await field('Client secret').fill('s3cret-of-the-client')
    await field('Scope').fill('calls')
    await save()
    const authorization = {
      kind: 'oauth2',
      token_url: 'https://login.example.com/token',
      client_id: 'hookswitch',
      client_secret: null,
      scope: 'calls',
    }
    expect(await stored(HTTPS)).toMatchObject({ authorization })
    await open(HTTPS)
    await fold('Authorization').getByText('OAuth 2.0, login.example.com').waitFor()
    await fold('Authorization').locator('summary').click()
    expect(await field('Client secret').inputValue()).toBe('')
    await field('Scope').fill('')
    await save()
    expect(await stored(HTTPS)).toMatchObject({ authorization: { ...authorization, scope: null } })
  })

  test('a log-in is saved, and its body is not shown again', async () => {
    await open(HTTPS, 'Authorization')
    await drawer().getByText('A log-in', { exact: true }).click()
    await field('Address of the log-in').fill('/login')
    await field('Body of the log-in').fill('{"user":"a","password":"p4ssword-of-it"}')
    await field('Where the answer has the token').fill('token')
    await press()
    await drawer().getByRole('alert').filter({ hasText: 'The pointer' }).waitFor()
    await field('Where the answer has the token').fill('/token')
    await field('It is valid for (seconds)').fill('600')
    await save()
    expect(await stored(HTTPS)).toMatchObject({
      authorization: { kind: 'login', request: { url: '/login', body: null }, token: '/token', expires_in: 600 },
    })
    await open(HTTPS, 'Authorization')
    expect(await field('Body of the log-in').inputValue()).toBe('')
    expect(await field('It is valid for (seconds)').inputValue()).toBe('600')
    await drawer().getByText('None', { exact: true }).click()
    await save()
    expect(await stored(HTTPS)).toMatchObject({ authorization: null, tls: { certificate: client.cert } })
  })

  test("a broker's webhook has Home Assistant and certificates, and no authorization", async () => {
    await open(BROKER, 'Order and pace')
    expect(await fold('Authorization').count()).toBe(0)
    await drawer()
      .getByLabel(/^Home Assistant/)
      .check()
    await save()
    expect(await stored(BROKER)).toMatchObject({ discovery: 'homeassistant' })
    await open(BROKER)
    await fold('Order and pace').getByText('as they come, no limit, Home Assistant').waitFor()
    await fold('Order and pace').locator('summary').click()
    await drawer()
      .getByLabel(/^Home Assistant/)
      .uncheck()
    await save()
    expect(await stored(BROKER)).toMatchObject({ discovery: null })
  })

  test.each([1_280, 390])('the folds are accessible and fit at %i px', async (width) => {
    await seen.page.setViewportSize({ width, height: 900 })
    await open(HTTPS, 'Certificates', 'Authorization')
    for (const kind of ['OAuth 2.0', 'A log-in']) {
      await drawer().getByText(kind, { exact: true }).click()
      expect([kind, await accessibilityFaults(seen.page, ['dialog'])]).toEqual([kind, []])
      expect([kind, await overflowOf(seen.page)]).toEqual([kind, 0])
    }
    expect(seen.faults).toEqual([])
  })
})
