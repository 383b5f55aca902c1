import { SQLiteError } from 'bun:sqlite'
import { Fault, type FaultCode, type FieldError } from '../../../lib/fault.ts'
import type { Mutation, Tx } from './mutation.ts'
import { refusalOf } from './store-fault.ts'

/** A requested mutation, and its result. Both are passed between threads. */
export type Job = readonly [name: string, args: unknown]
export type Reply =
  | { readonly value: unknown }
  | {
      readonly fault: {
        code: FaultCode
        message: string
        errors: readonly FieldError[]
        headers: Readonly<Record<string, string>>
      }
    }
  | { readonly error: { message: string; stack: string | undefined } }

export type Registry = ReadonlyMap<string, Mutation<unknown, unknown>>

/** SQLite's codes for a store that cannot be written now: the whole batch is undone, and a later one may succeed. */
const UNWRITABLE = /^SQLITE_(FULL|READONLY|IOERR|CANTOPEN|BUSY|LOCKED|NOMEM|CORRUPT|NOTADB|PERM)/

/** Returns whether an error of SQLite means that the store cannot be written now. */
export const isUnwritable = (error: unknown): boolean =>
  error instanceof SQLiteError && UNWRITABLE.test(error.code ?? '')

/**
 * Runs a batch in one transaction, and commits it. A mutation that throws undoes only its own writes: the batch is run
 * again with a savepoint around each. Always using savepoints would cost a tenth of the throughput.
 */
export function runBatch(sqlite: Tx, registry: Registry, jobs: readonly Job[]): Reply[] {
  const run = ([name, args]: Job): Reply => {
    const found = registry.get(name)
    if (found === undefined)
      throw new Error(`no mutation is called ${name}: is its file registered in src/app/writer.ts?`)
    return { value: found.run(sqlite, args) }
  }
  const all = (one: (job: Job) => Reply): Reply[] => {
    // The batch before could not even be undone: this one must not be part of it.
    if (sqlite.inTransaction) sqlite.run('ROLLBACK')
    sqlite.run('BEGIN IMMEDIATE')
    try {
      const replies = jobs.map(one)
      sqlite.run('COMMIT')
      return replies
    } catch (error) {
      // SQLite may have rolled it back already, because the disk is full.
      if (sqlite.inTransaction) sqlite.run('ROLLBACK')
      throw error
    }
  }
  const guarded = (job: Job): Reply => {
    sqlite.run('SAVEPOINT one')
    try {
      const reply = run(job)
      sqlite.run('RELEASE one')
      return reply
    } catch (error) {
      if (isUnwritable(error)) throw error
      sqlite.run('ROLLBACK TO one')
      sqlite.run('RELEASE one')
      return failed(error)
    }
  }
  try {
    return all(run)
  } catch (error) {
    if (isUnwritable(error)) return refuseAll(sqlite, jobs, error)
    if (jobs.length === 1) return [failed(error)]
  }
  try {
    return all(guarded)
  } catch (error) {
    return refuseAll(sqlite, jobs, error)
  }
}

/** Returns the replies to a batch that could not be written at all. */
export function refuseAll(sqlite: Tx, jobs: readonly Job[], error: unknown): Reply[] {
  const reply = unavailable(`the store cannot be written: ${refusalOf(error, sqlite.filename)}`)
  return jobs.map(() => reply)
}

function failed(error: unknown): Reply {
  if (error instanceof Fault) {
    const { code, message, errors, headers } = error
    return { fault: { code, message, errors, headers } }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { error: { message, stack } }
}

const unavailable = (message: string): Reply => ({
  fault: { code: 'unavailable', message, errors: [], headers: {} },
})

/** Returns the result in a reply. @throws the error of the mutation. */
export function resultOfReply(reply: Reply): unknown {
  if ('fault' in reply) {
    const { code, message, errors, headers } = reply.fault
    throw new Fault(code, message, { errors, headers })
  }
  if ('error' in reply) {
    const error = new Error(reply.error.message)
    if (reply.error.stack !== undefined) error.stack = reply.error.stack
    throw error
  }
  return reply.value
}
