import { timingSafeEqual } from 'node:crypto'
import { Elysia } from 'elysia'
import { Fault } from '../lib/fault.ts'
import type { Metrics } from './measurement.ts'

const digest = (text: string) => new Bun.CryptoHasher('sha256').update(text).digest()

/**
 * Creates `GET /metrics` (Prometheus text), for requests with the token of `--metrics-token`. Without a token there is
 * no such route.
 */
export function metricsRoutes(token: string | undefined, metrics: Metrics) {
  const routes = new Elysia({ name: 'metrics', normalize: false })
  if (token === undefined) return routes
  const wanted = digest(token)
  return routes.get(
    '/metrics',
    async ({ request }) => {
      const given = /^bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
      if (given === undefined || !timingSafeEqual(digest(given), wanted))
        throw new Fault('unauthenticated', 'Send the token of --metrics-token as Authorization: Bearer.')
      return new Response(await metrics.text(), {
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
      })
    },
    { detail: { hide: true } },
  )
}
