import { expect, test } from 'bun:test'
import { parsePbxUrl } from '../../../src/lib/pbx-url.ts'
import { checkPbx } from '../../../src/pbx/tools/check.ts'

const EVENT = `Event: VarSet\r\nPrivilege: dialplan,all\r\nTimestamp: 1.0\r\nAccountCode: acme\r\nValue: ${'x'.repeat(8_000)}\r\n\r\n`
const FLOOD = Buffer.from(EVENT.repeat(256))
/** More than any check reads. */
const ENDLESS_BYTES = 2 * 1024 * 1024 * 1024

/** An Asterisk that accepts the login, answers nothing else, and sends events without end. */
function startFlood() {
  const sent = { bytes: 0 }
  const closed = Promise.withResolvers<void>()
  const pump = (socket: Bun.Socket<{ left: Buffer; isIn: boolean }>) => {
    while (socket.data.isIn && sent.bytes < ENDLESS_BYTES) {
      if (socket.data.left.length === 0) socket.data.left = FLOOD
      const written = socket.write(socket.data.left)
      if (written <= 0) return
      sent.bytes += written
      socket.data.left = socket.data.left.subarray(written)
    }
  }
  const listener = Bun.listen<{ left: Buffer; isIn: boolean }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { left: Buffer.alloc(0), isIn: false }
        socket.write('Asterisk Call Manager/5.0.1\r\n')
      },
      data(socket, chunk) {
        const id = /ActionID: (\S+)/.exec(chunk.toString())?.[1]
        if (socket.data.isIn) return
        socket.write(`Response: Success\r\nActionID: ${id}\r\nChallenge: 123\r\n\r\n`)
        if (!chunk.toString().includes('Action: Login')) return
        socket.data.isIn = true
        pump(socket)
      },
      drain: pump,
      close: () => closed.resolve(),
      error: () => closed.resolve(),
    },
  })
  return { port: listener.port, sent, closed: closed.promise, stop: () => listener.stop(true) }
}

test('a PBX that sends without end is checked by a part of it, and the memory does not grow with it', async () => {
  const flood = startFlood()
  const parsed = parsePbxUrl(`ami://any:any@127.0.0.1:${flood.port}?tenants=accountcode`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const before = process.memoryUsage.rss()
  const findings = await checkPbx(parsed.pbx, 60_000)
  await flood.closed
  flood.stop()
  expect(findings).toContainEqual({ level: 'advice', text: expect.stringContaining('more than 128 MB') })
  expect(findings).toContainEqual({ level: 'ok', text: 'events of class dialplan arrive' })
  expect(findings).toContainEqual({ level: 'ok', text: 'its customers (tenants=accountcode): acme' })
  expect(flood.sent.bytes).toBeLessThan(ENDLESS_BYTES / 4)
  expect(process.memoryUsage.rss() - before).toBeLessThan(400e6)
})
