import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { parsePbxUrl } from '../../../src/pbx/source/pbx-url.ts'
import { checkPbx } from '../../../src/pbx/tools/check.ts'
import { actionId, actionName, ami } from '../../help/pbx.ts'
import { startPbx } from '../../help/pbx-server.ts'

const EVENT = `Event: VarSet\r\nPrivilege: dialplan,all\r\nTimestamp: 1.0\r\nAccountCode: acme\r\nValue: ${'x'.repeat(8_000)}\r\n\r\n`
/** A process of its own: this one also holds what the flood sends, and what tests before it have left. */
const CHECK = resolve(import.meta.dir, '../../help/check-process.ts')
const FLOOD = Buffer.from(EVENT.repeat(256))
/** More than any check reads. */
const ENDLESS_BYTES = 2 * 1024 * 1024 * 1024

/** An Asterisk that accepts the login, answers nothing else, and sends events without end. */
function startFlood() {
  const sent = { bytes: 0 }
  const closed = Promise.withResolvers<void>()
  const { port, stop } = startPbx((client) => {
    let isIn = false
    const pump = () => {
      while (isIn && client.unsent().length === 0 && sent.bytes < ENDLESS_BYTES) {
        client.write(FLOOD)
        sent.bytes += FLOOD.length
      }
    }
    client.write('Asterisk Call Manager/5.0.1\r\n')
    return {
      data(bytes) {
        if (isIn) return
        const block = bytes.toString()
        client.write(ami(`Response: Success\nActionID: ${actionId(block)}\nChallenge: 123`))
        isIn = actionName(block) === 'Login'
        pump()
      },
      drained: pump,
      closed: closed.resolve,
    }
  })
  return { port, sent, closed: closed.promise, stop }
}

test('a PBX that sends without end is checked by a part of it, and the memory does not grow with it', async () => {
  const flood = startFlood()
  const checking = Bun.spawn([process.execPath, CHECK, `ami://any:any@127.0.0.1:${flood.port}?tenants=accountcode`])
  const { findings, grown } = await new Response(checking.stdout).json()
  await flood.closed
  flood.stop()
  expect(findings).toContainEqual({ level: 'advice', text: expect.stringContaining('more than 128 MB') })
  expect(findings).toContainEqual({ level: 'ok', text: 'events of class dialplan arrive' })
  expect(findings).toContainEqual({ level: 'ok', text: 'its customers (tenants=accountcode): acme' })
  expect(flood.sent.bytes).toBeLessThan(ENDLESS_BYTES / 4)
  expect(grown).toBeLessThan(400e6)
})

test.each([
  [
    'ami',
    'u:s',
    'Content-Type: auth/request\n\n',
    'a FreeSWITCH answers at this address: use esl:// in its URL (esl://:password@host:8021)',
  ],
  [
    'esl',
    ':s',
    'Asterisk Call Manager/5.0.1\r\n',
    'an Asterisk answers at this address: use ami:// in its URL (ami://user:secret@host:5038)',
  ],
])('%s:// at the other kind of PBX is told by its greeting, at once', async (scheme, login, greeting, advice) => {
  const { port, stop } = startPbx((client) => {
    // In two parts, as a network may cut it.
    client.write(greeting.slice(0, 5))
    setImmediate(() => client.write(greeting.slice(5)))
    return { data() {} }
  })
  const parsed = parsePbxUrl(`${scheme}://${login}@127.0.0.1:${port}`)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const findings = await checkPbx(parsed.pbx, 0)
  stop()
  expect(findings.at(-1)).toEqual({ level: 'missing', text: expect.stringContaining(advice) })
})
