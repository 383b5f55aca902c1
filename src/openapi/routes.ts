import { Elysia } from 'elysia'
import stylePath from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundlePath from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import { type DocumentedRoute, openApiDocument } from './document.ts'
import { CATALOG_STYLE, catalogPage } from './event-catalog.ts'

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hookswitch API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<nav><a href="/docs/events">Event catalog: every kind with a whole body</a></nav>
<main id="docs"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`
const START = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, tryItOutEnabled: true, defaultModelsExpandDepth: 0, validatorUrl: null })
`

/** The page loads nothing from other hosts and runs no script but ours. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

/** Creates `/openapi.json`, and `/docs`, its page, whose script is part of the executable. */
export function openApiRoutes(routes: () => readonly DocumentedRoute[], version: string) {
  let document: string | undefined
  const zipped = new Map<string, Promise<Uint8Array<ArrayBuffer>>>()
  const hidden = { detail: { hide: true } }

  /** Returns a file of the executable, which is compressed once. */
  function asset(path: string, type: string): Promise<Response> {
    const bytes =
      zipped.get(path) ??
      Bun.file(path)
        .bytes()
        .then((content) => Bun.gzipSync(content))
    zipped.set(path, bytes)
    return bytes.then(
      (body) => new Response(body, { headers: { ...HEADERS, 'content-type': type, 'content-encoding': 'gzip' } }),
    )
  }
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
    .get('/docs', () => text(PAGE, 'text/html; charset=utf-8'), hidden)
    .get('/docs/events', () => text(catalogPage(), 'text/html; charset=utf-8'), hidden)
    .get('/docs/events.css', () => text(CATALOG_STYLE, 'text/css; charset=utf-8'), hidden)
    .get('/docs/start.js', () => text(START, 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/swagger-ui-bundle.js', () => asset(bundlePath, 'text/javascript; charset=utf-8'), hidden)
    .get('/docs/swagger-ui.css', () => asset(stylePath, 'text/css; charset=utf-8'), hidden)
}
