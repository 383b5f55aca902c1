/** The least that a server can do: serves one file, in its own process, and prints its port. Argument: the file. */
import { parseRange } from '../../src/recordings/byte-range.ts'

const file = Bun.file(process.argv[2] ?? '')
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch(request) {
    const range = parseRange(request.headers.get('range'), file.size)
    return typeof range === 'string'
      ? new Response(file)
      : new Response(file.slice(range.start, range.end), { status: 206 })
  },
})
console.log(server.port)
