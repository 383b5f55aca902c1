// Node or Bun, nothing to install: PORT=3000 WEBHOOK_SECRET=whsec_… node receiver.mjs
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace('whsec_', ''), 'base64')

function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers
  const expected = Buffer.from(createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64'))
  const isRecent = Math.abs(Date.now() / 1000 - Number(timestamp)) < 300
  // While a secret is being replaced there are two signatures.
  const given = signatures.split(' ').map((one) => Buffer.from(one.replace('v1,', '')))
  return isRecent && given.some((one) => one.length === expected.length && timingSafeEqual(one, expected))
}

// Keep both in your database: they have to outlive this process.
const handled = new Set()
const latest = new Map()

createServer(async (request, response) => {
  const body = await text(request)
  const id = request.headers['webhook-id']
  if (!isGenuine(request.headers, body)) return response.writeHead(401).end()
  const { name, call, sequence } = JSON.parse(body).data
  // Each event has the whole call: one that comes late, after a retry, must not undo what is newer.
  const isLate = call !== undefined && sequence < (latest.get(call.id) ?? 0)
  if (!handled.has(id)) console.log(isLate ? 'late' : 'handle', name, sequence ?? '')
  if (call !== undefined && !isLate) latest.set(call.id, sequence)
  handled.add(id)
  response.end()
}).listen(process.env.PORT ?? 3000)
