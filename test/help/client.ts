import { type RunningApp, run } from './app.ts'

export const PASSWORD = 'correct horse'

/** An answer of the API, taken apart. */
export type Answer = {
  status: number
  headers: Headers
  body: { status: string; code: number; result: unknown; message: string }
}

export type Ask = { body?: unknown; raw?: BodyInit; headers?: Record<string, string>; token?: string }

/** Sends one request like a client. `body` is sent as JSON, `raw` unchanged. */
export async function ask(app: { url: string }, method: string, path: string, options: Ask = {}): Promise<Answer> {
  const { body, raw, headers = {}, token } = options
  const response = await fetch(app.url + path, {
    method,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(body === undefined ? (raw === undefined ? {} : { body: raw }) : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? NO_BODY : JSON.parse(text) }
}
const NO_BODY = { status: '', code: 0, result: null, message: '' }

type NewUser = { readonly account?: string; readonly store?: readonly string[]; readonly executable?: string }

/** Adds a user with the command line, beside the running service. `store`: the flags that name its store. */
export async function addUser(cwd: string, email: string, given: string | NewUser = {}): Promise<void> {
  const { account = 'default', store = [], ...build } = typeof given === 'string' ? { account: given } : given
  const args = ['user', 'add', ...store, '--email', email, '--name', 'A. Tester', '--account', account]
  const { code, stderr } = await run(args, { cwd, stdin: `${PASSWORD}\n`, ...build })
  if (code !== 0) throw new Error(`user add failed: ${stderr}`)
}

/** Adds a user and logs in. @returns the token. */
export async function newToken(app: RunningApp, email: string, given: string | NewUser = {}): Promise<string> {
  await addUser(app.cwd, email, given)
  return logIn(app, email)
}

export async function logIn(app: { url: string }, email: string, password = PASSWORD): Promise<string> {
  const { body } = await ask(app, 'POST', '/auth/login', { body: { email, password } })
  const { result } = body
  if (typeof result !== 'object' || result === null || !('access_token' in result)) throw new Error(body.message)
  return String(result.access_token)
}

/** A webhook with every switch on, except for `switches`. */
export const webhook = (url: string, switches: Partial<Record<string, boolean>> = {}) => ({
  url,
  call_started: true,
  call_ended: true,
  dial_started: true,
  dial_answered: true,
  dial_ended: true,
  call_transferred: true,
  call_saved: true,
  ...switches,
})
