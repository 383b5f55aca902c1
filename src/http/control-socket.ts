import { chmodSync, existsSync, lstatSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Log } from '../lib/log.ts'

// The API on a Unix socket, for commands on the same machine. A user who may open the socket is the
// operator: the permissions of the file decide, and no other check is needed.

/** The name of the socket in the data folder. */
export const CONTROL_SOCKET = 'control.sock'
/** The header of each answer: a command of another version may not understand the rest. */
export const VERSION_HEADER = 'x-hookswitch-version'
/** The longest name that the system has room for. */
export const MAX_SOCKET_BYTES = 107

const OWNER_ONLY = 0o700
const BY_GROUP_AND_OTHERS = 0o077
const WRITTEN_BY_OTHERS = 0o002
/** The socket is made for its owner alone. */
const SOCKET_UMASK = 0o177
const STICKY = 0o1000
const FINISH_WITHIN_MS = 2_000
const ANSWER_WITHIN_MS = 3_000

type Answer = (request: Request) => Response | Promise<Response>

type Options = {
  readonly path: string
  /** Makes the folder of the socket; an error costs the socket alone. */
  readonly prepare?: () => void
  readonly version: string
  readonly answer: Answer
  readonly log: Log
}

/** The open control socket. */
export type ControlSocket = { stop(): Promise<void> }

/**
 * Opens the control socket. A service that cannot have one runs on without: then the log says why, and what to do. A
 * socket that a killed service left is replaced; one on which somebody answers is not.
 */
export async function openControlSocket(options: Options): Promise<ControlSocket | undefined> {
  const { path, prepare, version, answer, log } = options
  try {
    prepare?.()
    const problem = await problemOf(path)
    if (problem !== undefined) return without(log, path, problem)
    return listen(path, async (request) => {
      const response = await answer(request)
      response.headers.set(VERSION_HEADER, version)
      return response
    })
  } catch (error) {
    return without(log, path, error instanceof Error ? error.message : String(error))
  }
}

function without(log: Log, socket: string, reason: string): undefined {
  log.warn({ socket }, `there is no control socket, so commands cannot ask this service: ${reason}`)
}

/** Returns why there can be no socket at a path. */
async function problemOf(path: string): Promise<string | undefined> {
  if (Buffer.byteLength(path) > MAX_SOCKET_BYTES)
    return `the path ${path} is longer than ${MAX_SOCKET_BYTES} bytes: give a shorter one with --control, to commands too`
  const folder = dirname(path)
  if (!existsSync(folder)) return `there is no folder ${folder}: make it, or give another place with --control`
  if ((statSync(folder).mode & WRITTEN_BY_OTHERS) !== 0)
    return `everybody may write to the folder ${folder}: chmod o-w ${folder}, or give another place with --control`
  const there = lstatSync(path, { throwIfNoEntry: false })
  if (there === undefined) return undefined
  if (!there.isSocket()) return `${path} is no socket: move it away, or give another place with --control`
  if (await isAnswered(path)) return `another service answers on ${path}: give another place with --control`
  rmSync(path)
  return undefined
}

/** Returns whether a process listens on a socket: the socket of a killed process refuses connections. */
async function isAnswered(path: string): Promise<boolean> {
  try {
    await fetch('http://control/health', { unix: path, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    return true
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')
  }
}

function listen(path: string, answer: Answer): ControlSocket {
  const umask = process.umask(SOCKET_UMASK)
  try {
    const server = Bun.serve({
      unix: path,
      fetch(request, own) {
        // A test request or a check of a PBX takes longer than Bun's 10 s, and nobody else can wait here.
        own.timeout(request, 0)
        return answer(request)
      },
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    })
    return {
      async stop() {
        await Promise.race([server.stop(), Bun.sleep(FINISH_WITHIN_MS)])
        await server.stop(true)
      },
    }
  } finally {
    process.umask(umask)
  }
}

/**
 * Closes the data folder to others, if it is the process's own. The folder of another user, as a volume that is handed
 * over by its group, keeps its mode, and so does one that is shared by its nature, as /tmp.
 */
export function closeFolder(folder: string, log: Log): void {
  try {
    const { mode, uid } = statSync(folder)
    if (uid !== process.getuid?.() || (mode & BY_GROUP_AND_OTHERS) === 0 || (mode & STICKY) !== 0) return
    chmodSync(folder, OWNER_ONLY)
    log.info({ folder }, 'the data folder was open to other users: now it is for the user of the service alone')
  } catch (error) {
    log.warn({ folder, err: error }, 'the data folder may be open to other users: its mode cannot be changed')
  }
}
