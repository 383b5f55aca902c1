/**
 * A receiver in its own process: answers 200 on several ports, or never. Prints its ports on standard output. `GET
 * /count` returns the number of requests; if it counts, also the number of different ones.
 */
const ports = Number(process.argv[2] ?? '1')
const hang = process.argv[3] === 'hang'
const ids = process.argv[3] === 'count' ? new Set<string>() : undefined
let count = 0
const ok = new Response('ok')
const servers = Array.from({ length: ports }, () =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'GET') return Response.json({ requests: count, distinct: ids?.size })
      count += 1
      ids?.add(`${request.url} ${request.headers.get('webhook-id')}`)
      if (hang) return new Promise<Response>(() => {})
      await request.arrayBuffer()
      return ok.clone()
    },
  }),
)
console.log(JSON.stringify(servers.map(({ port }) => port)))
