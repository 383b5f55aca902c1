import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run } from '../../help/app.ts'
import { certify, newAuthority } from '../../help/certificate.ts'
import { addUser } from '../../help/client.ts'
import { startTlsReceiver } from '../../help/tls-receiver.ts'

/** Certificates and tokens from files, with a receiver that asks for a client certificate. */

const folder = emptyFolder()
const cwd = folder.path
const authority = newAuthority('The authority of the receiver')

beforeAll(async () => {
  const { cert, key } = certify(['hookswitch'], authority)
  for (const [name, text] of Object.entries({ cert, key, ca: authority.pem, other: certify(['other']).key }))
    writeFileSync(join(cwd, `${name}.pem`), text)
  await addUser(cwd, 'a@example.com')
})
afterAll(() => folder[Symbol.dispose]())

async function webhook(...args: string[]) {
  const { code, stdout, stderr } = await run(['webhook', ...args], { cwd })
  return { code, stdout: stdout.trimEnd(), stderr: stderr.trimEnd() }
}

test('a client certificate is set, used and taken away', async () => {
  using receiver = await startTlsReceiver({ '': certify(['127.0.0.1'], authority) }, authority.pem)
  const url = `https://127.0.0.1:${receiver.port}/hook`
  const send = () => webhook('test', url, '--allow-net', 'loopback')
  expect((await webhook('add', url, '--allow-net', 'loopback')).code).toBe(0)
  expect((await send()).stderr).toContain('the certificate is')

  const wrong = await webhook('set', url, '--certificate', 'cert.pem', '--key', 'other.pem')
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('is not the key of this certificate')])
  await webhook('set', url, '--ca', 'ca.pem')
  expect((await send()).stderr).toContain(
    'the server wants a client certificate: give the webhook one in its option tls',
  )
  expect((await webhook('set', url, '--certificate', 'cert.pem', '--key', 'key.pem', '--ca', 'ca.pem')).code).toBe(0)
  expect(await send()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^200\t/) })
  expect(receiver.requests.map(({ client }) => client)).toEqual(['hookswitch'])
  expect((await webhook('list')).stdout).toMatch(/ tls$/)
  expect((await webhook('list', '--json')).stdout).not.toContain('PRIVATE KEY')

  // Other options leave it; the key stays for the same certificate.
  await webhook('set', url, '--name', 'CRM', '--certificate', 'cert.pem', '--ca', 'ca.pem')
  expect((await send()).code).toBe(0)
  await webhook('set', url, '--no-tls')
  expect((await send()).code).toBe(1)
})

test('an authorization comes from a file', async () => {
  const url = 'https://token.example/'
  await webhook('add', url)
  const oauth2 = { kind: 'oauth2', token_url: 'https://login.example/token', client_id: 'us', client_secret: 'hidden' }
  writeFileSync(join(cwd, 'oauth2.json'), JSON.stringify(oauth2))
  expect((await webhook('set', url, '--authorization', 'oauth2.json')).code).toBe(0)
  expect((await webhook('list')).stdout).toContain('authorization=oauth2')
  expect((await webhook('list', '--json')).stdout).not.toContain('hidden')
  expect((await webhook('set', url, '--no-authorization')).code).toBe(0)
  expect((await webhook('list')).stdout).not.toContain('authorization')
})
