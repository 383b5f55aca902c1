/**
 * Starts an S3 server that redirects each request, or each with one method, to an inner server. Returns the requests
 * that arrived there.
 */
export function startRedirects(status: number, only?: string) {
  const arrived: string[] = []
  const inner = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      arrived.push(`${request.method} ${await request.text()}`)
      return new Response('an inner secret', { headers: { 'last-modified': new Date(0).toUTCString() } })
    },
  })
  const s3 = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ method }) =>
      only !== undefined && method !== only
        ? new Response(null, { headers: { 'content-length': '15' } })
        : new Response(null, { status, headers: { location: `${inner.url}secret` } }),
  })
  return {
    url: s3.url.origin,
    arrived,
    stop: async () => void (await Promise.all([s3.stop(true), inner.stop(true)])),
  }
}
