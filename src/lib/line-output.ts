import { constants, fstatSync, openSync, write, writeSync } from 'node:fs'
import { formatDuration, steadyUs } from './time.ts'

/**
 * Writes lines to an open file, pipe or terminal without ever blocking or failing. Lines that cannot be written now
 * stay in memory, up to a limit; further lines are lost, counted, and reported as soon as writing works again.
 *
 * Three things would block the process or end it: a full disk, a reader that has gone, a reader that does not read. So
 * a pipe or terminal is opened again in non-blocking mode (another process may share the original file description,
 * which must not change), and Bun's thread pool does the writes. An output that cannot be opened again, such as the
 * socket of systemd's journal, may block one thread of the pool, never more: a small machine has only two.
 */
export type LineOutput = {
  /** Adds a line, with its line break. */
  write(line: string): void
  /** Resolves when everything was written, or after a time. */
  flush(withinMs: number): Promise<void>
  /** Writes as much as possible without blocking, since the process is about to end. */
  flushNow(): void
}

/** Lines that could not be written, and what prevented it. */
export type LineLoss = { readonly lines: number; readonly reason: string; readonly lasted: string }

type Options = {
  /** Called once lines can be written again after some were lost. */
  readonly onRecovered?: (loss: LineLoss) => void
  readonly maxBytes?: number
}

/** Some 5,000 lines of the log. */
const MAX_BYTES = 1024 * 1024
const CHUNK_BYTES = 64 * 1024
/** A slow reader reads on within milliseconds; a full disk stays full for longer. */
const AGAIN_SOON_MS = 20
const AGAIN_MS = 250
/** How long a process that ends waits for the thread that is writing. */
const IN_FLIGHT_MS = 20

const REASONS: Readonly<Record<string, string>> = {
  EAGAIN: 'its reader does not read',
  EPIPE: 'its reader has gone',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
  EFBIG: 'the file may not become larger',
  EIO: 'the device has failed',
}

/** Whether a write that may block has a thread of the pool. */
let hasThread = false

/** Creates the output to an open file descriptor. */
export function createLineOutput(openFd: number, options: Options = {}): LineOutput {
  const { onRecovered = () => {}, maxBytes = MAX_BYTES } = options
  const { fd, mayBlock } = withoutBlocking(openFd)
  const waiting: Buffer[] = []
  let waitingBytes = 0
  /** The rest of the chunk that is being written. */
  let chunk: Buffer | undefined
  let isWriting = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let problem: string | undefined
  let lost: { lines: number; sinceUs: number; reason: string } | undefined
  let onIdle: (() => void)[] = []

  function nextChunk(): Buffer | undefined {
    const lines: Buffer[] = []
    let bytes = 0
    for (let line = waiting[0]; line !== undefined && bytes < CHUNK_BYTES; line = waiting[0]) {
      waiting.shift()
      lines.push(line)
      bytes += line.length
    }
    waitingBytes -= bytes
    return lines.length === 0 ? undefined : Buffer.concat(lines, bytes)
  }

  function writeOn(): void {
    if (isWriting || timer !== undefined) return
    if (mayBlock && hasThread) {
      later(AGAIN_SOON_MS)
      return
    }
    chunk ??= nextChunk()
    if (chunk === undefined) {
      for (const resolve of onIdle) resolve()
      onIdle = []
      return
    }
    isWriting = true
    if (mayBlock) hasThread = true
    write(fd, chunk, 0, chunk.length, null, (error, written) => {
      isWriting = false
      if (mayBlock) hasThread = false
      if (error === null) wrote(written)
      else refused(error)
    })
  }

  function wrote(bytes: number): void {
    problem = undefined
    // A line is never left half written, however long the rest takes.
    chunk = chunk === undefined || bytes === chunk.length ? undefined : chunk.subarray(bytes)
    if (lost !== undefined && chunk === undefined) {
      const { lines, sinceUs, reason } = lost
      lost = undefined
      onRecovered({ lines, reason, lasted: formatDuration((steadyUs() - sinceUs) / 1_000) })
    }
    writeOn()
  }

  function refused({ code = 'an unknown error' }: NodeJS.ErrnoException): void {
    problem = REASONS[code] === undefined ? code : `${REASONS[code]} (${code})`
    if (lost !== undefined) lost.reason = problem
    later(code === 'EAGAIN' ? AGAIN_SOON_MS : AGAIN_MS)
  }

  function later(ms: number): void {
    timer = setTimeout(() => {
      timer = undefined
      writeOn()
    }, ms)
    // Unread lines keep no process alive.
    timer.unref()
  }

  return {
    write(line) {
      const bytes = Buffer.from(line)
      if (waitingBytes + bytes.length > maxBytes) {
        lost ??= { lines: 0, sinceUs: steadyUs(), reason: problem ?? 'it takes lines more slowly than they come' }
        lost.lines += 1
      } else {
        waiting.push(bytes)
        waitingBytes += bytes.length
      }
      writeOn()
    },
    async flush(withinMs) {
      if (chunk === undefined && waiting.length === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      const limit = setTimeout(resolve, withinMs)
      onIdle.push(resolve)
      writeOn()
      await promise
      clearTimeout(limit)
    },
    flushNow() {
      if (isWriting) {
        Bun.sleepSync(IN_FLIGHT_MS)
        // The thread may be waiting for the reader, and so would this one.
        if (mayBlock) return
        chunk = undefined
      }
      try {
        for (chunk ??= nextChunk(); chunk !== undefined; chunk ??= nextChunk()) {
          const written = writeSync(fd, chunk)
          chunk = written === chunk.length ? undefined : chunk.subarray(written)
        }
      } catch {
        // The process ends: there is no later.
      }
    },
  }
}

/** Returns a descriptor for the same file, pipe or terminal whose writes do not block, if there can be one. */
function withoutBlocking(fd: number): { readonly fd: number; readonly mayBlock: boolean } {
  try {
    const stat = fstatSync(fd)
    if (stat.isFile()) return { fd, mayBlock: false }
    if (stat.isFIFO() || stat.isCharacterDevice()) {
      const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY
      return { fd: openSync(`/proc/self/fd/${fd}`, flags), mayBlock: false }
    }
  } catch {
    // A system without /proc, a pipe without a reader, or a terminal outside of this container.
  }
  return { fd, mayBlock: true }
}
