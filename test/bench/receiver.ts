/**
 * A receiver in a process of its own: answers 200 on several ports, or never. Says its ports on standard output, and on `GET /count`
 * how many requests it got.
 */
const ports = Number(process.argv[2] ?? '1')
const hang = process.argv[3] === 'hang'
let count = 0
const ok = new Response('ok')
const servers = Array.from({ length: ports }, () =>
  Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      if (request.method === 'GET') return new Response(String(count))
      count += 1
      if (hang) return new Promise<Response>(() => {})
      await request.arrayBuffer()
      return ok.clone()
    },
  }),
)
console.log(JSON.stringify(servers.map(({ port }) => port)))
