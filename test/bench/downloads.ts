/**
 * Downloads one URL on many connections at once, in a process of its own: each as fast as a link of so many bytes a second takes it. Prints
 * a line once all are answered, and the bytes of all when its standard input ends. Arguments: URL, token, connections, bytes a second.
 */
const [url = '', token = '', connections = '0', bytesPerSecond = '0'] = process.argv.slice(2)
const { hostname, port, pathname } = new URL(url)
const request = `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`
const rate = Number(bytesPerSecond)
let answered = 0
let refused = 0
let bytes = 0
const { promise: allAnswered, resolve } = Promise.withResolvers<void>()

async function download(): Promise<void> {
  let own = 0
  let beganMs = 0
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: (socket) => void socket.write(request),
      data(socket, chunk) {
        if (own === 0) {
          beganMs = performance.now()
          answered += 1
          if (!chunk.toString('latin1', 0, 12).startsWith('HTTP/1.1 200')) refused += 1
          if (answered === Number(connections)) resolve()
        }
        own += chunk.length
        bytes += chunk.length
        const aheadMs = (own / rate) * 1_000 - (performance.now() - beganMs)
        if (aheadMs < 10) return
        socket.pause()
        setTimeout(() => socket.resume(), aheadMs)
      },
    },
  })
}

for (let count = 0; count < Number(connections); count += 1) await download()
if (Number(connections) > 0) await allAnswered
console.log('ready')
for await (const _ of Bun.stdin.stream());
console.log(JSON.stringify({ bytes, refused }))
process.exit(0)

export {}
