import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { curlCommand, quoteForShell, requestHeaders } from '../../../src/web/browser/lib/curl.ts'

const SECRET = `whsec_${btoa('a secret of thirty-two bytes....')}`

test.each([
  ['plain', "'plain'"],
  ["it's", "'it'\\''s'"],
  ['$(reboot) `id` "x"\n', '\'$(reboot) `id` "x"\n\''],
])('%p is quoted for a shell', (text, expected) => expect(quoteForShell(text)).toBe(expected))

test('a shell passes every argument unchanged, whatever the name of a caller contains', async () => {
  const body = JSON.stringify({ name: `'; touch /tmp/x; echo "$(id)" \\ \``, url: 'é' })
  const command = curlCommand("https://a.example/?q='x'", [['webhook-id', "a'b"]], body).replace(
    /^curl/,
    "printf '%s\\0'",
  )
  const shell = Bun.spawn(['sh', '-c', command])
  const given = (await new Response(shell.stdout).text()).split('\0').slice(0, -1)
  expect(given).toEqual(['-i', '-X', 'POST', "https://a.example/?q='x'", '-H', "webhook-id: a'b", '--data-raw', body])
})

test('the official library verifies its signature', async () => {
  const body = '{"time":"2026-11-20T21:51:36.204118Z","data":{"name":"call_started"}}'
  const headers = Object.fromEntries(await requestHeaders('0193-id', body, SECRET, Date.now()))
  expect(new Webhook(SECRET).verify(body, headers)).toEqual(JSON.parse(body))
})

test('without a secret it goes unsigned', async () => {
  const names = (await requestHeaders('id', '{}', null, 0)).map(([name]) => name)
  expect(names).not.toContain('webhook-signature')
})
