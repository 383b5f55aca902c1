import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gzipSync } from 'bun'
import { Elysia } from 'elysia'
import { loadAssets } from '../../../src/web/server/assets.ts'
import { pageRoutes } from '../../../src/web/server/page-routes.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'

/** The bytes on the wire: nobody notices a page that grows. */
const MAX_SCRIPT_BYTES = 88_000
const MAX_STYLE_BYTES = 9_300
/** Of the page's HTML, script, style and icon. */
const MAX_FILES_BYTES = 98_600

const MAX_REQUESTS = 6

const folder = emptyFolder()
let app: RunningApp
let html: string

beforeAll(async () => {
  app = await startServe({ cwd: folder.path })
  html = await (await fetch(app.url)).text()
})
afterAll(async () => {
  await app.stop()
  folder[Symbol.dispose]()
})

const named = (pattern: RegExp) => [...html.matchAll(pattern)].map(([, path = '']) => path)

test('the page comes with a policy that lets nothing else in', async () => {
  const { headers } = await fetch(app.url)
  const policy = headers.get('content-security-policy') ?? ''
  expect(policy).toStartWith(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';",
  )
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/html;charset=utf-8',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
  })
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

test('no site may show the pop page in a frame but those that the operator names, and no other page', () => {
  const framesOf = async (path: string, ancestors: readonly string[]) => {
    const routes = new Elysia().use(pageRoutes(await loadAssets(), ancestors))
    const { headers } = await routes.handle(new Request(`http://localhost${path}`))
    const policy = headers.get('content-security-policy') ?? ''
    return [/frame-ancestors ([^;]*)/.exec(policy)?.[1], headers.get('x-frame-options')]
  }
  const sites = ['https://crm.example.com', 'http://localhost:3000']
  return Promise.all([
    expect(framesOf('/pop', [])).resolves.toEqual(["'none'", 'DENY']),
    expect(framesOf('/pop', sites)).resolves.toEqual([sites.join(' '), null]),
    ...['/', '/docs', '/help'].map((path) => expect(framesOf(path, sites)).resolves.toEqual(["'none'", 'DENY'])),
  ])
})

test('the page has no script or style of its own in its text, and names files of this host alone', () => {
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/)
  const paths = named(/(?:src|href)="([^"]+)"/g)
  expect(paths.length).toBeGreaterThanOrEqual(3)
  for (const path of paths) expect(path).toMatch(/^\/[\w.-]+$/)
})

test('its files may be kept for ever, and have another name when they have changed', async () => {
  for (const path of named(/(?:src|href)="([^"]+)"/g)) {
    const { headers, status } = await fetch(app.url + path)
    expect([path, status]).toEqual([path, 200])
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(path).toMatch(/-[0-9a-z]{8}\.\w+$/)
  }
})

test('what did not change is not sent again', async () => {
  const etag = (await fetch(app.url)).headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`, `"of before", ${etag}`]) {
    const again = await fetch(app.url, { headers: { 'if-none-match': known } })
    expect([known, again.status, await again.text()]).toEqual([known, 304, ''])
  }
  expect((await fetch(app.url, { headers: { 'if-none-match': '"of before"' } })).status).toBe(200)
})

test('HEAD gets what GET would, and a file that is unknown is not found', async () => {
  const head = await fetch(app.url, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  const { status, headers } = await fetch(`${app.url}/chunk-00000000.js`)
  expect([status, headers.get('content-type')]).toEqual([404, 'application/json;charset=utf-8'])
})

test('its log-in form takes six requests, and names every script that its scripts import', async () => {
  const files = named(/(?:src|href)="([^"]+)"/g)
  const texts = await Promise.all(
    files.filter((path) => path.endsWith('.js')).map(async (path) => (await fetch(app.url + path)).text()),
  )
  // What is imported later, in parentheses, is none of them.
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/(?<!\()["'`]\.?\/?(chunk-\w+\.js)["'`]/g)].map(([, name]) => name),
  )
  expect(imported.length).toBeGreaterThan(0)
  expect(imported.filter((name) => !files.includes(`/${name}`))).toEqual([])
  // The page itself is one of them.
  expect(1 + new Set(files).size).toBeLessThanOrEqual(MAX_REQUESTS)
})

test('it is small', async () => {
  const bytesOf = async (pattern: RegExp) => {
    const sizes = await Promise.all(
      named(pattern).map(async (path) => {
        const bytes = await (await fetch(app.url + path)).bytes()
        return { raw: bytes.length, compressed: gzipSync(bytes, { level: 9 }).length }
      }),
    )
    return sizes.reduce((sum, one) => ({ raw: sum.raw + one.raw, compressed: sum.compressed + one.compressed }))
  }
  const script = await bytesOf(/(?:src|href)="([^"]+\.js)"/g)
  const style = await bytesOf(/href="([^"]+\.css)"/g)
  console.log(
    `page: script ${script.raw} bytes, ${script.compressed} compressed; style ${style.raw}, ${style.compressed}`,
  )
  expect(script.compressed).toBeLessThan(MAX_SCRIPT_BYTES)
  expect(style.compressed).toBeLessThan(MAX_STYLE_BYTES)
  const icon = await bytesOf(/href="([^"]+\.svg)"/g)
  const page = gzipSync(html, { level: 9 }).length
  expect(page + script.compressed + style.compressed + icon.compressed).toBeLessThan(MAX_FILES_BYTES)
})

test('its style knows three weights of a font: a font without another one would take a heavier face', async () => {
  const [path = ''] = named(/href="([^"]+\.css)"/g)
  const style = await (await fetch(app.url + path)).text()
  const weights = [...style.matchAll(/font(?:-weight)?:\s*(\d{3}|bold)\b/g)].map(([, weight]) => weight)
  expect(weights.length).toBeGreaterThan(10)
  expect([...new Set(weights)].sort()).toEqual(['400', '500', '600'])
})

test('it is served compressed to clients that take that', async () => {
  const path = named(/src="([^"]+)"/g)[0] ?? ''
  const packed = await fetch(app.url + path, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  const plain = await fetch(app.url + path, { headers: { 'accept-encoding': 'identity' } })
  expect(plain.headers.get('content-encoding')).toBeNull()
  expect(new TextDecoder().decode(Bun.gunzipSync(await packed.bytes()))).toBe(await plain.text())
})

test('from the sources it is built when it is asked for', async () => {
  const assets = await loadAssets()
  expect(assets.filter(({ isHtml }) => isHtml).map(({ path }) => path)).toEqual(['/', '/docs', '/help', '/pop'])
  expect(assets.map(({ type }) => type.split(';')[0]).sort()).toEqual([
    'image/svg+xml',
    'text/css',
    'text/css',
    'text/css',
    'text/css',
    'text/html',
    'text/html',
    'text/html',
    'text/html',
    'text/javascript',
    'text/javascript',
    'text/javascript',
    'text/javascript',
  ])
})

test('a guide is found by the address that people guess', async () => {
  const { status, headers } = await fetch(`${app.url}/help/receive`, { redirect: 'manual' })
  expect([status, headers.get('location')]).toEqual([302, '/help#/receive'])
})
