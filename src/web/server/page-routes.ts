import { gzipSync } from 'bun'
import { Elysia } from 'elysia'
import { matchesAny } from '../../http/entity-tag.ts'
import { type Asset, POP_PATH } from './assets.ts'

/**
 * Only this service's own files: no inline script or style, no other host, no form to elsewhere, and no string that
 * becomes markup or code (Trusted Types without any policy). Only sites of `ancestors` may frame a page.
 */
const pagePolicy = (ancestors: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "media-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')

const ALWAYS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  vary: 'accept-encoding',
} as const

/** Returns the headers about frames. X-Frame-Options has no list of sites, so a list leaves that header out. */
const frameHeaders = (ancestors: readonly string[]): Readonly<Record<string, string>> => ({
  'content-security-policy': pagePolicy(ancestors),
  ...(ancestors.length === 0 ? { 'x-frame-options': 'DENY' } : {}),
})

/**
 * Returns the routes of the pages and of their files. A file's name contains a hash of its content, so only the pages
 * themselves may change. `frameAncestors`: the sites that may show the pop page in a frame.
 */
export function pageRoutes(assets: readonly Asset[], frameAncestors: readonly string[]) {
  const routes = new Elysia({ name: 'page', normalize: false })
  for (const asset of assets) {
    const handle = createHandler(asset, frameHeaders(asset.path === POP_PATH ? frameAncestors : []))
    routes.get(asset.path, ({ request, set }) => handle(request, set.headers), {
      detail: { hide: true },
    })
  }
  // An address that people guess: a guide has its own on the page of all guides.
  return routes.get('/help/:topic', ({ params, redirect }) => redirect(`/help#/${encodeURIComponent(params.topic)}`), {
    detail: { hide: true },
  })
}

function createHandler(asset: Asset, framing: Readonly<Record<string, string>>) {
  const caching = asset.isHtml ? 'no-cache' : 'public, max-age=31536000, immutable'
  // Read at the first request, since most of the time nobody has a page open.
  let loaded: Promise<{ bytes: Uint8Array<ArrayBuffer>; plainTag: string }> | undefined
  let gzipped: Uint8Array<ArrayBuffer> | undefined
  return async (request: Request, inherited: Record<string, unknown>): Promise<Response> => {
    loaded ??= asset.read().then((bytes) => ({ bytes, plainTag: `"${Bun.hash(bytes).toString(36)}"` }))
    const { bytes, plainTag } = await loaded
    const wantsGzip = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    if (wantsGzip) gzipped ??= gzipSync(bytes, { level: 9 })
    const tag = wantsGzip ? plainTag.replace(/"$/, '-gz"') : plainTag
    const headers = new Headers({
      ...ALWAYS,
      ...framing,
      'content-type': asset.type,
      'cache-control': caching,
      etag: tag,
    })
    const requestId = inherited['x-request-id']
    if (typeof requestId === 'string') headers.set('x-request-id', requestId)
    if (matchesAny(request.headers.get('if-none-match'), tag)) return new Response(null, { status: 304, headers })
    if (wantsGzip) headers.set('content-encoding', 'gzip')
    return new Response(wantsGzip ? (gzipped ?? bytes) : bytes, { headers })
  }
}
