import type { Fence } from '../operations/cluster.ts'
import type { Work } from './statement.ts'

// An operation is declared once and run by both engines.

type ReadOptions = {
  /** It reads a large part of the store: Postgres runs it on the connection without a short time limit. */
  readonly isSlow?: boolean
  /** Its statements see the store at one moment. */
  readonly isSnapshot?: boolean
  /** Its statements together take long: in SQLite, which blocks the event loop, other work runs between them. */
  readonly isSliced?: boolean
}

type WriteOptions<Result> = {
  /** It may wait for much of the store: Postgres runs it on the connection without a short time limit, quietly. */
  readonly isSlow?: boolean
  /** Other processes are not notified, because none of them caches the changed rows. */
  readonly isQuiet?: boolean
  /** Reads whether there is anything to do. If not, nothing is written, and the result is `otherwise`. */
  readonly onlyIf?: { work(): Work<boolean>; readonly otherwise: Result }
}

type Read<Args extends readonly unknown[], Result> = ReadOptions & {
  readonly access: 'read'
  readonly work: (...args: Args) => Work<Result>
}

/** All its statements are one transaction. */
type Write<Args extends readonly unknown[], Result> = WriteOptions<Result> & {
  readonly access: 'write'
  readonly work: (...args: Args) => Work<Result>
  /** Returns the fence among the arguments; it is checked in the same transaction. */
  readonly fence?: (...args: Args) => Fence | undefined
}

/** Declares an operation that only reads. */
export const read = <Args extends readonly unknown[], Result>(
  work: (...args: Args) => Work<Result>,
  options: ReadOptions = {},
): Read<Args, Result> => ({ access: 'read', work, ...options })

/** Declares an operation that writes. */
export const write = <Args extends readonly unknown[], Result>(
  work: (...args: Args) => Work<Result>,
  options: WriteOptions<Result> = {},
): Write<Args, Result> => ({ access: 'write', work, ...options })

/** Declares an operation that writes as the owner of leases: its last argument is their fence. */
export const fencedWrite = <Args extends readonly unknown[], Result>(
  work: (...args: Args) => Work<Result>,
  options: WriteOptions<Result> = {},
): Write<[...Args, fence?: Fence], Result> => {
  // The arguments of the work, and then the fence: TypeScript does not know the length of `Args`.
  const { length } = work
  return {
    access: 'write',
    work: (...args) => work(...(args.slice(0, length) as unknown as Args)),
    fence: (...args) => args[length] as Fence | undefined,
    ...options,
  }
}

type AnyOperation = (...args: never[]) => Promise<unknown>
type Declared<Run> = Run extends (...args: infer Args) => Promise<infer Result>
  ? Read<Args, Result> | Write<Args, Result>
  : never

/** The declarations of a group's operations, by name. */
export type Declarations<Group> = { readonly [Name in keyof Group]: Declared<Group[Name]> }

/** Any declared operation, for the engines. */
export type Declaration = Declared<AnyOperation>
