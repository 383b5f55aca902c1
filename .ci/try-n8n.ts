import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { freePort, isOk } from './ports.ts'

// Tries the node of .ci/n8n in a real n8n: `bun .ci/try-n8n.ts PATH-OF-N8N` after `npm run build` there. It activates a
// workflow, plays a recorded call, and expects an item for each event; sends a forged request, and expects 401;
// deactivates the workflow, and expects that the webhook is gone. PATH-OF-N8N is the program of the npm package n8n; the
// settings of its database (DB_TYPE, …) are those of the environment.

const ROOT = resolve(import.meta.dir, '..')
const NODE = join(ROOT, '.ci/n8n')
const [n8n] = process.argv.slice(2)
if (n8n === undefined) throw new Error('give the path of n8n: bun .ci/try-n8n.ts node_modules/.bin/n8n')
if (!existsSync(join(NODE, 'dist')))
  throw new Error('the node is not built: run npm install --ignore-scripts && npm run build in .ci/n8n')

const folder = mkdtempSync(join(tmpdir(), 'hookswitch-n8n-'))
const children: Bun.Subprocess[] = []
const PASSWORD = 'A-password-4-the-trial'
const EMAIL = 'you@example.com'

async function main(): Promise<void> {
  const [hookswitchPort, n8nPort, pbxPort] = [await freePort(), await freePort(), await freePort()]
  const hookswitch = `http://127.0.0.1:${hookswitchPort}`
  const service = `http://127.0.0.1:${n8nPort}`
  await ours(['user', 'add', '--email', EMAIL, '--name', 'You'], `${PASSWORD}\n`)
  start('hookswitch', [
    'bun',
    'src/main.ts',
    'serve',
    '--data',
    folder,
    '--listen',
    `127.0.0.1:${hookswitchPort}`,
    '--allow-net',
    'loopback',
  ])
  start('n8n', [n8n ?? ''], {
    N8N_PORT: String(n8nPort),
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_USER_FOLDER: folder,
    N8N_CUSTOM_EXTENSIONS: NODE,
    N8N_SECURE_COOKIE: 'false',
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_RUNNERS_ENABLED: 'false',
    WEBHOOK_URL: `${service}/`,
  })
  await until('hookswitch answers', () => isOk(`${hookswitch}/health`), 60)
  const token = String(
    (await ask(`${hookswitch}/auth/login`, { email: EMAIL, password: PASSWORD })).result.access_token,
  )
  const list = async (): Promise<{ url: string }[]> =>
    (await ask(`${hookswitch}/integration/webhook`, undefined, { authorization: `Bearer ${token}` })).result

  await until('n8n answers', () => isOk(`${service}/rest/settings`), 300)
  const cookie = await setUpOwner(service)
  const rest = async (path: string, body?: unknown, method?: string) =>
    (await ask(`${service}/rest${path}`, body, { cookie, 'browser-id': 'trial' }, method)).data
  const credential = await rest('/credentials', {
    name: 'Hookswitch',
    type: 'hookswitchApi',
    data: { baseUrl: hookswitch, accessToken: token },
  })
  const tested = await rest('/credentials/test', {
    credentials: {
      id: credential.id,
      name: 'Hookswitch',
      type: 'hookswitchApi',
      data: { baseUrl: hookswitch, accessToken: token },
    },
  })
  if (tested.status !== 'OK') throw new Error(`the credential is refused: ${JSON.stringify(tested)}`)
  const workflow = await rest('/workflows', {
    name: 'Calls',
    active: false,
    settings: {},
    connections: {},
    nodes: [
      {
        id: crypto.randomUUID(),
        webhookId: crypto.randomUUID(),
        name: 'Hookswitch Trigger',
        type: 'CUSTOM.hookswitchTrigger',
        typeVersion: 1,
        position: [0, 0],
        parameters: { events: ['call_started', 'call_ended', 'call_missed'] },
        credentials: { hookswitchApi: { id: credential.id, name: 'Hookswitch' } },
      },
    ],
  })
  await rest(`/workflows/${workflow.id}/activate`, { versionId: workflow.versionId })
  const [webhook] = await list()
  if (webhook === undefined) throw new Error('the active workflow has no webhook')
  console.log(`activated: ${webhook.url} is in the list`)

  const forged = await fetch(webhook.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': 'x',
      'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
      'webhook-signature': 'v1,AAAA',
    },
    body: '{}',
  })
  if (forged.status !== 401) throw new Error(`a forged request gets ${forged.status}`)
  console.log('a forged request gets 401')

  start('replay', [
    'bun',
    'src/main.ts',
    'pbx',
    'replay',
    'src/cli/demo/ring-group.ami',
    '--speed',
    '5',
    '--listen',
    `127.0.0.1:${pbxPort}`,
  ])
  await ours(['pbx', 'add', `ami://any:any@127.0.0.1:${pbxPort}?name=office`])
  const items = async (): Promise<string[]> => {
    const filter = encodeURIComponent(JSON.stringify({ workflowId: workflow.id }))
    const { results } = await rest(`/executions?filter=${filter}`)
    return results.map(({ status }: { status: string }) => status)
  }
  await until(
    'each event has started the workflow',
    async () => (await items()).filter((one) => one === 'success').length >= 2,
    120,
  )
  const statuses = await items()
  if (statuses.some((status) => status !== 'success')) throw new Error(`executions: ${statuses.join(', ')}`)
  console.log(`${statuses.length} events have started the workflow`)

  await rest(`/workflows/${workflow.id}/deactivate`, {})
  if ((await list()).length > 0) throw new Error('the webhook is still there')
  console.log('deactivated: the webhook is gone')
}

async function setUpOwner(service: string): Promise<string> {
  // The route answers before the database is migrated.
  for (let turn = 0; ; turn += 1) {
    const response = await fetch(`${service}/rest/owner/setup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'browser-id': 'trial' },
      body: JSON.stringify({ email: EMAIL, firstName: 'A', lastName: 'B', password: PASSWORD }),
    })
    const cookie = response.headers.get('set-cookie')?.split(';')[0]
    if (response.ok && cookie !== undefined) return cookie
    if (turn > 60) throw new Error(`n8n cannot be set up: ${response.status} ${await response.text()}`)
    await Bun.sleep(1_000)
  }
}

/** Returns the JSON of an answer. @throws Error for a status beyond 299. */
async function ask(url: string, body?: unknown, headers: Record<string, string> = {}, method?: string) {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`)
  // The answers of two programs, each read where it is used.
  // biome-ignore lint/suspicious/noExplicitAny: a trial, which fails if a field is not there
  return JSON.parse(text) as any
}

function start(name: string, command: string[], env: Record<string, string> = {}): void {
  const log = Bun.file(join(folder, `${name}.log`))
  children.push(Bun.spawn(command, { cwd: ROOT, env: { ...process.env, ...env }, stdout: log, stderr: log }))
}

async function ours(args: string[], input = ''): Promise<void> {
  const child = Bun.spawn(['bun', 'src/main.ts', ...args, '--data', folder], {
    cwd: ROOT,
    stdin: new Blob([input]),
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if ((await child.exited) !== 0) throw new Error(`hookswitch ${args.join(' ')} failed`)
}

async function until(what: string, holds: () => Promise<boolean>, seconds: number): Promise<void> {
  const end = Date.now() + seconds * 1_000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await Bun.sleep(500)
  }
}

try {
  await main()
} catch (error) {
  for (const name of ['hookswitch', 'n8n', 'replay'])
    console.error(
      `--- ${name}\n${await Bun.file(join(folder, `${name}.log`))
        .text()
        .catch(() => '')}`.slice(-4_000),
    )
  throw error
} finally {
  for (const child of children) child.kill()
  await Promise.all(children.map((child) => child.exited))
  rmSync(folder, { recursive: true, force: true })
}
