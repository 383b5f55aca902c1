/**
 * Clients that download one URL, in their own process. Arguments: URL, token, number of connections, bytes a second per
 * connection. When a download ends, another begins on a new connection; the first ones begin at random places of the
 * file, so that they do not all end together.
 * Commands on standard input: `on` starts the clients within a second or two, `at once` all together, `off` cuts them
 * off. Each command is answered with a line: the counts `{ bytes, ended, refused }` since the previous command.
 */
import { createInterface } from 'node:readline'

const [url = '', token = '', connections = '0', bytesPerSecond = '0'] = process.argv.slice(2)
const { hostname, port, pathname } = new URL(url)
const rate = Number(bytesPerSecond)
/** With `on`, this many clients begin every 5 ms. */
const BEGIN_AT_ONCE = 5
const counts = { bytes: 0, ended: 0, refused: 0 }
const open = new Set<{ terminate(): void }>()
let isOn = false

function requestFrom(start: number): string {
  const range = start === 0 ? '' : `Range: bytes=${start}-\r\n`
  return `GET ${pathname} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n${range}\r\n`
}

const HEAD_END = '\r\n\r\n'

/** Returns the number of bytes of a response, `Infinity` until its head is complete. */
function lengthOf(head: string): number {
  const end = head.indexOf(HEAD_END)
  if (end < 0) return Number.POSITIVE_INFINITY
  if (!/^HTTP\/1\.1 20[06] /.test(head)) counts.refused += 1
  return end + HEAD_END.length + Number(/^content-length: *(\d+)/im.exec(head)?.[1])
}

async function download(start: number): Promise<void> {
  let own = 0
  let head = ''
  let length = 0
  let beganMs = 0
  const end = (socket: { terminate(): void }) => {
    open.delete(socket)
    socket.terminate()
    if (!isOn) return
    counts.ended += 1
    void download(0)
  }
  await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open(socket) {
        open.add(socket)
        if (isOn) socket.write(requestFrom(start))
        else end(socket)
      },
      data(socket, chunk) {
        if (own === 0) beganMs = performance.now()
        if (!head.includes(HEAD_END)) {
          head += chunk.toString('latin1', 0, 2_000)
          length = lengthOf(head)
        }
        own += chunk.length
        counts.bytes += chunk.length
        const aheadMs = (own / rate) * 1_000 - (performance.now() - beganMs)
        if (own >= length) return void setTimeout(() => open.has(socket) && end(socket), Math.max(aheadMs, 1))
        if (aheadMs < 10) return
        socket.pause()
        setTimeout(() => open.has(socket) && socket.resume(), aheadMs)
      },
      close(socket) {
        if (open.delete(socket) && isOn) counts.refused += 1
      },
    },
  })
}

async function begin(atOnce: number): Promise<void> {
  const head = await fetch(url, { method: 'HEAD', headers: { authorization: `Bearer ${token}` } })
  const size = Number(head.headers.get('content-length'))
  isOn = true
  for (let count = 0; count < Number(connections); count += atOnce) {
    const starts = Array.from({ length: atOnce }, () => Math.floor(Math.random() * size))
    await Promise.all(starts.map(download))
    await Bun.sleep(5)
  }
}

function stop(): void {
  isOn = false
  for (const socket of open) socket.terminate()
  open.clear()
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'on') await begin(BEGIN_AT_ONCE)
  else if (line === 'at once') await begin(Number(connections))
  else stop()
  console.log(JSON.stringify(counts))
  Object.assign(counts, { bytes: 0, ended: 0, refused: 0 })
}
process.exit(0)
