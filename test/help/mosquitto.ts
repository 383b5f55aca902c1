import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from './app.ts'
import type { Certified } from './certificate.ts'
import { untilListening } from './mqtt-broker.ts'
import { reservePort } from './ports.ts'

/** The path of the broker: on the user's PATH, or where Debian installs it; `undefined` if it is missing. */
export const MOSQUITTO: string | undefined =
  Bun.which('mosquitto') ?? ['/usr/sbin/mosquitto', '/usr/local/sbin/mosquitto'].find((path) => existsSync(path))

type MosquittoOptions = {
  /** Further lines of its configuration. */
  readonly lines?: readonly string[]
  /** Its users with their passwords; without them anybody may connect. */
  readonly users?: Readonly<Record<string, string>>
  /** The lines of its access list. */
  readonly acl?: readonly string[]
  readonly certified?: Certified
  /** The broker's log; `all` has each message. */
  readonly logs?: 'all' | 'error'
}

/** A line of its log for a message that it took. */
const RECEIVED = /Received PUBLISH from \S+ \(d\d, q1, r\d, m\d+, '([^']*)'/g

/** Starts the real broker. Its log names each message that it has taken, before its PUBACK. */
export async function startMosquitto({ lines = [], users, acl, certified, logs = 'all' }: MosquittoOptions = {}) {
  if (MOSQUITTO === undefined) throw new Error('mosquitto is not installed')
  const folder = emptyFolder()
  const file = (name: string) => join(folder.path, name)
  const port = reservePort()
  const config = [
    `listener ${port} 127.0.0.1`,
    `allow_anonymous ${users === undefined}`,
    'log_dest stderr',
    `log_type ${logs}`,
    // Not as the user mosquitto, who may not read the folder.
    'user root',
    ...lines,
  ]
  if (users !== undefined) {
    for (const [user, password] of Object.entries(users)) {
      const create = (await Bun.file(file('passwords')).exists()) ? [] : ['-c']
      const made = Bun.spawnSync(['mosquitto_passwd', ...create, '-b', file('passwords'), user, password])
      if (made.exitCode !== 0) throw new Error(`mosquitto_passwd: ${made.stderr}`)
    }
    config.push(`password_file ${file('passwords')}`)
  }
  if (acl !== undefined) {
    await Bun.write(file('acl'), `${acl.join('\n')}\n`)
    config.push(`acl_file ${file('acl')}`)
  }
  if (certified !== undefined) {
    await Bun.write(file('cert.pem'), certified.cert)
    await Bun.write(file('key.pem'), certified.key)
    config.push(`certfile ${file('cert.pem')}`, `keyfile ${file('key.pem')}`)
  }
  await Bun.write(file('mosquitto.conf'), `${config.join('\n')}\n`)

  let log = ''
  let child: Bun.Subprocess<'ignore', 'ignore', 'pipe'> | undefined
  let collected: Promise<void> = Promise.resolve()

  async function start(): Promise<void> {
    const started = Bun.spawn([MOSQUITTO ?? '', '-c', file('mosquitto.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
    child = started
    collected = (async () => {
      const decoder = new TextDecoder()
      for await (const chunk of started.stderr) log += decoder.decode(chunk, { stream: true })
    })()
    await Promise.race([
      untilListening(port),
      started.exited.then((code) => {
        throw new Error(`mosquitto ended with ${code}: ${log}`)
      }),
    ])
  }
  async function end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    child?.kill(signal)
    await child?.exited
    await collected
  }

  await start()
  return {
    port,
    log: () => log,
    /** Returns the topics of the messages that it took, in order, over all its lives. */
    topics: (): string[] => [...log.matchAll(RECEIVED)].map(([, topic = '']) => topic),
    start,
    kill: () => end('SIGKILL'),
    async [Symbol.asyncDispose]() {
      await end('SIGTERM')
      folder[Symbol.dispose]()
    },
  }
}
