// Makes a call for each click on a number in Bitrix24 (its event ONEXTERNALCALLSTART). node bitrix24-call.mjs
// APPLICATION_TOKEN: as Bitrix24 shows it for the outgoing webhook. HOOKSWITCH, TOKEN: the address of Hookswitch, and an
// API token that was made with "calls". EXTENSIONS: the extension of each user of Bitrix24, by id: {"7":"101"}.
import { timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const { APPLICATION_TOKEN = '', HOOKSWITCH = '', TOKEN = '', EXTENSIONS = '{}', PORT = '8090' } = process.env
const extensions = new Map(Object.entries(JSON.parse(EXTENSIONS)))
const MAX_BYTES = 64 * 1024

const isToken = (given) => {
  const [one, other] = [Buffer.from(given), Buffer.from(APPLICATION_TOKEN)]
  return other.length > 0 && one.length === other.length && timingSafeEqual(one, other)
}

async function read(request) {
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > MAX_BYTES) throw new Error('too long')
  }
  return new URLSearchParams(text)
}

async function answer(request) {
  const form = await read(request)
  if (!isToken(form.get('auth[application_token]') ?? '')) return 403
  if (form.get('event') !== 'ONEXTERNALCALLSTART') return 200
  const from = extensions.get(form.get('data[USER_ID]') ?? '')
  if (from === undefined) return 200
  const response = await fetch(`${HOOKSWITCH}/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ from, to: form.get('data[PHONE_NUMBER]') ?? '' }),
  })
  const { message } = await response.json()
  console.log(from, response.status, message)
  // Bitrix24 would send it again: a call is never made twice.
  return 200
}

const server = createServer((request, response) => {
  answer(request)
    .catch(() => 400)
    .then((status) => response.writeHead(status).end())
})
server.listen(Number(PORT), () => console.log(`listening on ${server.address().port}`))
