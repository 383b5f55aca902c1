import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readConfig } from '../app/config.ts'
import { DEFAULTS, type GivenSettings } from '../app/settings.ts'
import { OPERATOR_HEADER } from '../auth/auth.ts'
import { CONTROL_SOCKET, MAX_SOCKET_BYTES, VERSION_HEADER } from '../http/control-socket.ts'
import { INVALID } from '../http/validation.ts'
import { FAULT_STATUS, Fault, type FaultCode, type FieldError } from '../lib/fault.ts'
import type { Log } from '../lib/log.ts'
import { wrongUsage } from '../lib/usage.ts'
import { VERSION } from '../lib/version.ts'
import { holderOf, isCommand } from '../store/sqlite/engine/folder-lock.ts'
import { readNodesInForce } from './database-nodes.ts'
import { onSilence, onWaiting, requireStore, type StoreFlags, storePlaceOf } from './open-store.ts'
import { operatorName } from './operator-name.ts'
import { printError } from './print.ts'

/** The answer of the API: its result, and the message for people. */
type Answer<Result> = { readonly result: Result; readonly message: string; readonly headers: Headers }

type Query = Readonly<Record<string, string | number | boolean | undefined>>
type Given = {
  readonly query?: Query | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The API, as a command asks it: the running service, or the store in this process. */
export type Service = {
  readonly isRunning: boolean
  /** Whether the running service itself answers: on a database a command may answer itself beside the nodes. */
  readonly isService: boolean
  /**
   * Sends a request. The result has the type of the route: a service of another version is not asked.
   * @throws CommanderError (exit code 2) for 422; Fault (exit code 1) for any other refusal.
   */
  ask<Result>(method: string, path: string, given?: Given): Promise<Answer<Result>>
}

/** The flags of every command that uses the store. */
export type ServiceFlags = StoreFlags & { readonly control?: string | undefined }

type Options = {
  /** Whether the command makes a store where there is none. */
  readonly mayCreate?: boolean
  /** Settings as `serve` has them, for this process; the running service has its own. */
  readonly settings?: GivenSettings
}

/** How long a command waits for a service that starts or stops, and for another command. */
const WITHIN_MS = 30_000
const AGAIN_MS = 50

/**
 * Asks the service that runs on a store. Where none runs, the same requests are answered in this process, over the
 * store, which no other process can use meanwhile.
 */
export async function withService<Result>(
  flags: ServiceFlags,
  work: (service: Service) => Promise<Result>,
  options: Options = {},
): Promise<Result> {
  const untilMs = performance.now() + WITHIN_MS
  for (;;) {
    const isLast = performance.now() > untilMs
    const found = (await findService(flags)) ?? (await openHere(flags, options, isLast))
    if (found !== undefined) return await work(found.service).finally(found.stop)
    await Bun.sleep(AGAIN_MS)
  }
}

/** Returns the service that runs on a store; `undefined` if none answers. @throws Fault if it cannot be asked. */
export async function runningService(flags: ServiceFlags): Promise<Service | undefined> {
  const found = await findService(flags)
  if (found === undefined && storePlaceOf(flags).database === undefined) {
    const holder = holderOf(join(flags.data, 'lock'))
    if (holder !== undefined) refuseEarlier(flags.data, holder)
  }
  return found?.service
}

type Found = { readonly service: Service; readonly stop: () => Promise<void> }

/** Returns the path of the socket of a store; `undefined`: a database without a folder, whose nodes are not asked. */
function socketOf(flags: ServiceFlags): string | undefined {
  if (flags.control !== undefined) return resolve(flags.control)
  return storePlaceOf(flags).database === undefined ? resolve(join(flags.data, CONTROL_SOCKET)) : undefined
}

/** Returns the running service; `undefined` if none answers. @throws Fault if this user may not ask it. */
async function findService(flags: ServiceFlags): Promise<Found | undefined> {
  const path = socketOf(flags)
  if (path === undefined || !mayBeSocket(path)) return undefined
  const send: Send = (url, init) => fetch(url, { ...init, unix: path, proxy: false })
  try {
    const response = await send(`${ORIGIN}/service`, {})
    // It begins or ends.
    if (response.status === FAULT_STATUS.unavailable) return undefined
    requireSameVersion(response.headers.get(VERSION_HEADER))
    return { service: { isRunning: true, isService: true, ask: asker(send) }, stop: async () => undefined }
  } catch (error) {
    // Beside nodes on a database a command answers itself as well.
    if (storePlaceOf(flags).database !== undefined) return undefined
    if (error instanceof Fault) throw error
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EACCES' || code === 'EPERM')
      throw new Fault('unavailable', `no permission to open ${path}: run this as the user of the service`)
    return undefined
  }
}

/** A name that is too long for the system is none, and a folder that cannot be read has one or not. */
function mayBeSocket(path: string): boolean {
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES) return false
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() ?? false
  } catch {
    return true
  }
}

/** @throws Fault where the service is of another version: then neither knows what the other one means. */
function requireSameVersion(version: string | null): void {
  if (version === VERSION) return
  throw new Fault(
    'unavailable',
    `the running service is hookswitch ${version ?? 'of another version'}, and this command is ${VERSION}: restart the service with this version, or use the command of its own`,
  )
}

/**
 * Answers in this process, over the store. Returns `undefined` while another process uses it.
 * @throws Fault with who that is, if it was waited for long enough.
 */
async function openHere(
  flags: ServiceFlags,
  { mayCreate = false, settings = {} }: Options,
  isLast: boolean,
): Promise<Found | undefined> {
  const { dataPath, database } = storePlaceOf(flags)
  const lockPath = join(dataPath, 'lock')
  if (database === undefined) {
    const holder = holderOf(lockPath)
    if (holder !== undefined) {
      refuseService(flags, holder, isLast)
      return undefined
    }
    try {
      if (!mayCreate) requireStore(join(dataPath, 'hookswitch.db'))
    } catch (error) {
      // Another command may be making the store: its file is empty at first.
      if (!isLast && holderOf(lockPath) !== undefined) return undefined
      throw error
    }
  }
  // A command beside a service needs nothing of this.
  const { openStoreApi } = await import('../app/in-process.ts')
  const readSettings = () => settingsOf(flags, settings)
  const place = { dataPath, database }
  const api = await openStoreApi({ place, readSettings, log: COMMAND_LOG, onWaiting, onSilence })
  if (api === undefined) return undefined
  const send: Send = (url, init) => api.answer(new Request(url, init))
  return { service: { isRunning: api.isRunning, isService: false, ask: asker(send) }, stop: api.stop }
}

/** Returns the settings of this process. The nodes of a database are not asked, but have left theirs in it. */
async function settingsOf(flags: ServiceFlags, settings: GivenSettings) {
  const { data, databaseUrl } = flags
  const place = storePlaceOf(flags)
  const nodes = place.database === undefined ? undefined : await readNodesInForce(place.database)
  const own = ownVariables(process.env)
  const { allowNets, presets } = nodes?.settings ?? {}
  const given = {
    ...own,
    ...(allowNets !== undefined && own.allowNet === undefined && { allowNet: allowNets }),
    ...(presets != null && own.presets === undefined && { presets }),
    ...settings,
  }
  return {
    config: readConfig({ ...DEFAULTS, ...given, data, databaseUrl }, {}),
    isRunning: nodes?.isRunning ?? false,
  }
}

/** @throws Fault if a service holds the store that does not answer this command, and waiting does not help. */
function refuseService({ data, control }: ServiceFlags, holder: string, isLast: boolean): void {
  const path = socketOf({ data, control }) ?? ''
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES && !isCommand(holder))
    throw new Fault(
      'unavailable',
      `the running service cannot be asked, since the path ${path} is longer than ${MAX_SOCKET_BYTES} bytes: give serve and this command a shorter one with --control`,
    )
  refuseEarlier(data, holder)
  if (!isLast) return
  throw new Fault(
    'unavailable',
    isCommand(holder)
      ? `another command uses the store (${holder}): try again when it has ended`
      : `a service uses the store (${holder}), but does not answer on ${path}: its log says why, and --control names another place`,
  )
}

/** @throws Fault if a service of an earlier version holds the store: such a service left a file, and has no socket. */
function refuseEarlier(data: string, holder: string): void {
  if (!existsSync(join(data, 'service.json')) || isCommand(holder)) return
  throw new Fault(
    'unavailable',
    `the running service (${holder}) is of an earlier version than this command: restart it with version ${VERSION}`,
  )
}

/** Returns the settings of this process that a command has of `serve`, where only the environment has them. */
const ownVariables = (env: Readonly<Record<string, string | undefined>>): GivenSettings => {
  const { HOOKSWITCH_ALLOW_NET: nets, HOOKSWITCH_PROXY: proxy } = env
  const { HOOKSWITCH_PRESETS: presets, HOOKSWITCH_PUBLIC_URL: publicUrl } = env
  const allowNet = nets?.split(/\s+/).filter(Boolean)
  return { ...(allowNet && { allowNet }), proxy, presets, publicUrl }
}

/** The causes of internal errors, which the service has in its log. */
export const COMMAND_LOG: Log = {
  debug() {},
  info() {},
  warn() {},
  error(facts: unknown, message?: string) {
    const { err, path, problem } = Object(facts)
    if (err === undefined) printError(`hookswitch: ${[message, path, problem].filter(Boolean).join(': ')}`)
    else printError(err instanceof Error ? (err.stack ?? err.message) : String(err))
  },
}

type Send = (url: string, init: RequestInit) => Promise<Response>

const ORIGIN = 'http://control'

function asker(send: Send): Service['ask'] {
  return async <Result>(method: string, path: string, { query = {}, body, headers = {} }: Given = {}) => {
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
    const response = await send(`${ORIGIN}${path}${search.size === 0 ? '' : `?${search}`}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        [OPERATOR_HEADER]: encodeURIComponent(operatorName()),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch((cause) => {
      throw new Fault('unavailable', 'the service has ended before it answered: see its log, and try again', { cause })
    })
    // The route's schema has the type: the answer is one of this version.
    const envelope = (await response.json()) as Envelope<Result>
    if (envelope.status !== 'success') throw refusalOf(envelope as Envelope<Refused>)
    return { result: envelope.result, message: envelope.message, headers: response.headers }
  }
}

type Refused = { readonly errors?: readonly FieldError[] }
type Envelope<Result> = {
  readonly status: string
  readonly code: number
  readonly result: Result
  readonly message: string
}

/** Returns the error of a command for a refusal of the API: its message and the errors of fields on one line. */
function refusalOf({ code, message, result: { errors = [] } }: Envelope<Refused>): Error {
  if (code === FAULT_STATUS.invalid)
    return wrongUsage(message === INVALID ? errors.map(sentenceOf).join('; ') : inLine(message))
  // The codes are a closed list; only a later version has another one.
  const [known = 'internal'] = (Object.keys(FAULT_STATUS) as FaultCode[]).filter((one) => FAULT_STATUS[one] === code)
  return new Fault(known, inLine(message))
}

/** Returns a message of the API as a part of a line, as it follows the name of the program. */
export const inLine = (message: string): string =>
  message.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())

/** Messages that go on after the name of their field; others are sentences of their own. */
const GOES_ON = /^(is|are|has|have|must|may|cannot|can|does|names|needs|starts|ends|matches) /

/** Returns an error of a field as a sentence; an error of the whole has an empty path. */
function sentenceOf({ path, message: said }: FieldError): string {
  const message = said.replace('GET /integration/webhook/preset lists', 'hookswitch webhook preset lists')
  if (path === '') return message
  const field = path
    .slice(1)
    .replaceAll(/\/(\d+)(?=\/|$)/g, '[$1]')
    .replaceAll('/', '.')
  return `${field}${GOES_ON.test(message) ? '' : ':'} ${message}`
}
