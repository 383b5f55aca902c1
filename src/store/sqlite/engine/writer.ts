import { type Job, type Registry, type Reply, refuseAll, runBatch } from './batch.ts'
import type { Durability, Mutation } from './mutation.ts'
import { connect } from './open.ts'
import { refusalOf } from './store-fault.ts'

/**
 * Messages to the writer thread and its replies. They are structured clones: JSON text would escape the bodies and
 * parse them again. The most frequent data, the outcomes, is flat to make cloning fast.
 */
export type ToWriter = { readonly open: string } | { readonly close: true } | Batch
export type Batch = { readonly jobs: readonly Job[]; readonly durability: Durability }
export type FromWriter = 'closed' | { readonly replies: readonly Reply[] } | { readonly failed: string }

/** With NORMAL a commit is written without waiting for the disk; the next FULL one brings it there too. */
const SYNCHRONOUS: Readonly<Record<Durability, string>> = { 'power cut': 'FULL', crash: 'NORMAL' }

type Writer = {
  /** Commits jobs in one transaction. */
  run(batch: Batch): Reply[]
  stop(): void
}

/** Opens the only connection of this process that writes. */
export function startWriter(path: string, registry: Registry): Writer {
  const connection = connect(path, 'writer')
  let durabilityNow: Durability = 'power cut'
  return {
    run({ jobs, durability }) {
      try {
        if (durability !== durabilityNow) connection.run(`PRAGMA synchronous = ${SYNCHRONOUS[durability]}`)
        durabilityNow = durability
      } catch (error) {
        return refuseAll(connection, jobs, error)
      }
      return runBatch(connection, registry, jobs)
    },
    stop: () => connection.close(),
  }
}

/** Returns all mutations that some modules export, alone or in lists, by name. @throws when two have the same name. */
export function registryOf(modules: readonly object[]): Registry {
  const registry = new Map<string, Mutation<unknown, unknown>>()
  for (const value of modules.flatMap((module) => Object.values(module).flat())) {
    if (!isMutation(value)) continue
    const known = registry.get(value.name)
    if (known !== undefined && known !== value) throw new Error(`two mutations are called ${value.name}`)
    registry.set(value.name, value)
  }
  return registry
}

const isMutation = (value: unknown): value is Mutation<unknown, unknown> =>
  typeof value === 'object' && value !== null && 'mutation' in value && value.mutation === true

/** Runs the writer thread: opens the store and commits the batches that it receives, one at a time. */
export function serveWriter(registry: Registry, port: Pick<Worker, 'addEventListener' | 'postMessage'>): void {
  let writer: Writer | undefined
  const send = (message: FromWriter) => port.postMessage(message)
  port.addEventListener('message', ({ data }: MessageEvent<ToWriter>) => {
    if ('jobs' in data) send({ replies: writer?.run(data) ?? [] })
    else if ('open' in data) {
      try {
        writer = startWriter(data.open, registry)
      } catch (error) {
        send({ failed: `it cannot open ${data.open}: ${refusalOf(error, data.open)}` })
      }
    } else {
      writer?.stop()
      send('closed')
    }
  })
}
