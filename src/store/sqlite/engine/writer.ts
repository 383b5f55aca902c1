import { type Job, type Registry, type Reply, runBatch } from './batch.ts'
import type { Durability, Mutation } from './mutation.ts'
import { connect } from './open.ts'

/**
 * What is sent to the writer's thread, and what it says. Handed over as it is: bodies as JSON text would be escaped and
 * read again, which costs more than a clone; what there is most of, the outcomes, is flat for its sake.
 */
export type ToWriter = { readonly open: string } | { readonly close: true } | Batch
export type Batch = { readonly jobs: readonly Job[]; readonly durability: Durability }
export type FromWriter = 'foreign' | 'closed' | { readonly replies: readonly Reply[] }

/** With NORMAL a commit is written without waiting for the disk; the next FULL one brings it there too. */
const SYNCHRONOUS: Readonly<Record<Durability, string>> = { 'power cut': 'FULL', crash: 'NORMAL' }

/** How often it is looked whether another process wrote to the store: contract 2.8 promises a second. */
const FOREIGN_POLL_MS = 250

export type Writer = {
  /** Commits jobs in one transaction. */
  run(batch: Batch): Reply[]
  stop(): void
}

/**
 * The one connection of this process that writes. `onForeign` is called when another process committed something:
 * SQLite's `data_version` of a connection changes only then.
 */
export function startWriter(path: string, registry: Registry, onForeign?: () => void): Writer {
  const connection = connect(path, 'writer')
  const version = connection.sqlite.query<{ data_version: number }, []>('PRAGMA data_version')
  const current = () => version.get()?.data_version
  let seen = current()
  let durabilityNow: Durability = 'power cut'
  const look = () => {
    const now = current()
    if (now === seen) return
    seen = now
    onForeign?.()
  }
  const timer = onForeign === undefined ? undefined : setInterval(look, FOREIGN_POLL_MS)
  timer?.unref?.()
  return {
    run({ jobs, durability }) {
      if (durability !== durabilityNow) connection.sqlite.run(`PRAGMA synchronous = ${SYNCHRONOUS[durability]}`)
      durabilityNow = durability
      return runBatch(connection, registry, jobs)
    },
    stop() {
      clearInterval(timer)
      connection.sqlite.close()
    },
  }
}

/** All mutations that some modules export, by name. @throws when two have one name. */
export function registryOf(modules: readonly object[]): Registry {
  const registry = new Map<string, Mutation<unknown, unknown>>()
  for (const value of modules.flatMap((module) => Object.values(module))) {
    if (!isMutation(value)) continue
    const known = registry.get(value.name)
    if (known !== undefined && known !== value) throw new Error(`two mutations are called ${value.name}`)
    registry.set(value.name, value)
  }
  return registry
}

const isMutation = (value: unknown): value is Mutation<unknown, unknown> =>
  typeof value === 'object' && value !== null && 'mutation' in value && value.mutation === true

/** The writer's thread: opens, runs what it is sent, one batch at a time. */
export function serveWriter(registry: Registry, port: Pick<Worker, 'addEventListener' | 'postMessage'>): void {
  let writer: Writer | undefined
  const say = (message: FromWriter) => port.postMessage(message)
  port.addEventListener('message', ({ data }: MessageEvent<ToWriter>) => {
    if ('jobs' in data) say({ replies: writer?.run(data) ?? [] })
    else if ('open' in data) writer = startWriter(data.open, registry, () => say('foreign'))
    else {
      writer?.stop()
      say('closed')
    }
  })
}
