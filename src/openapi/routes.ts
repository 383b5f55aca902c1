import { Elysia } from 'elysia'
import { CATALOG_STYLE } from './catalog-page.ts'
import { bodyCatalogPage, eventCatalogPage } from './catalogs.ts'
import { type DocumentedRoute, openApiDocument } from './document.ts'

/** The catalogs run no script, and load nothing but their style and icon. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}
const HTML = 'text/html; charset=utf-8'

/** Creates `/openapi.json`, and the catalogs of events and bodies below `/docs`; `/docs` itself is one of the pages. */
export function openApiRoutes(routes: () => readonly DocumentedRoute[], version: string) {
  let document: string | undefined
  const hidden = { detail: { hide: true } }
  const text = (body: string, type: string) => new Response(body, { headers: { ...HEADERS, 'content-type': type } })
  return new Elysia({ name: 'openapi' })
    .get(
      '/openapi.json',
      () => {
        document ??= JSON.stringify(openApiDocument(routes(), version))
        return text(document, 'application/json')
      },
      hidden,
    )
    .get('/docs/events', () => text(eventCatalogPage(), HTML), hidden)
    .get('/docs/bodies', () => text(bodyCatalogPage(), HTML), hidden)
    .get('/docs/catalog.css', () => text(CATALOG_STYLE, 'text/css; charset=utf-8'), hidden)
}
