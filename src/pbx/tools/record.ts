import { createWriteStream, openSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { Fault } from '../../lib/fault.ts'
import { watchLiveness } from '../connection/liveness.ts'
import { addressOf, openSocket, type PbxSocket } from '../connection/socket.ts'
import { TIMEOUTS } from '../connection/timeouts.ts'
import { KINDS } from '../kinds.ts'
import type { Talk } from '../recorded/talk.ts'
import { type PbxSource, pbxKindOf } from '../source/pbx-url.ts'
import { createAnonymizer } from './anonymize.ts'

type Recorder = {
  /**
   * Resolves with the reason when the PBX closed the connection or refused it, or the files cannot be written; with
   * `undefined` after `stop`.
   */
  readonly ended: Promise<string | undefined>
  bytes(): number
  stop(): void
}

/**
 * Records the bytes of a PBX in `path`, and their times in `path`.timing: a line `byte-offset milliseconds` for each
 * piece. If nothing arrives there are no files. @throws Fault before connecting, when a file exists already or cannot
 * be created.
 */
export function recordConnection(source: PbxSource, path: string, { isAnonymized = false } = {}): Recorder {
  const ending = Promise.withResolvers<string | undefined>()
  const output = createOutput(path, ending.resolve)
  const socket = openSocket(addressOf(source), TIMEOUTS.connectMs)
  const wire = { write: socket.write, lost: ending.resolve }
  const talk = KINDS[pbxKindOf(source)].talk(source, wire)
  const anonymize = isAnonymized ? createAnonymizer(crypto.randomUUID()) : undefined
  const pieces = createPieces((text) => output.write(Buffer.from(anonymize?.(text) ?? text, 'latin1')))

  void socket.closed.then(ending.resolve)
  return { ended: record(), bytes: output.bytes, stop: () => ending.resolve(undefined) }

  async function record(): Promise<string | undefined> {
    // Requests that await a reply must not delay the end.
    void ending.promise.then(() => {
      talk.close()
      socket.close()
    })
    await converse(socket, talk, {
      write: anonymize === undefined ? output.write : pieces.add,
      cutAt: anonymize === undefined ? () => {} : pieces.cutAt,
      lost: ending.resolve,
    })
    const reason = await ending.promise
    await output.close()
    if (anonymize === undefined || output.bytes() === 0 || !(await hasNames(path, anonymize))) return reason
    for (const one of [path, `${path}.timing`]) rmSync(one, { force: true })
    return `a name is in it in a spelling that --mask cannot hide, so ${path} was removed: record again, and hide it by hand`
  }
}

type Sink = {
  readonly write: (chunk: Uint8Array) => void
  /** Called with the end of the last whole frame. */
  readonly cutAt: (offset: number) => void
  readonly lost: (reason: string) => void
}

/**
 * Logs in, requests the lists that a recording needs, and passes on everything that the PBX sends, until the connection
 * is over.
 */
async function converse(socket: PbxSocket, talk: Talk, { write, cutAt, lost }: Sink): Promise<void> {
  if (!(await socket.opened)) return
  let readMs = performance.now()
  socket.read((chunk) => {
    readMs = performance.now()
    write(chunk)
    talk.receive(chunk)
    cutAt(talk.decoder.consumed)
    if (talk.decoder.fault !== undefined) lost(talk.decoder.fault)
  })
  const problem = await talk.begin()
  if (problem !== undefined) return lost(problem)
  const liveness = watchLiveness({
    idleMs: talk.idleMs,
    silentMs: () => performance.now() - readMs,
    probe: talk.probe,
    dead: () => lost('the PBX is silent'),
  })
  await socket.closed
  liveness.stop()
}

/** The part of a recording that is read at a time. */
const PART_BYTES = 1024 * 1024

/**
 * Masks names in a recording that were learned after their line was written. Returns whether any name is left: then the
 * recording must not be shown to others.
 */
async function hasNames(path: string, anonymize: ReturnType<typeof createAnonymizer>): Promise<boolean> {
  await using file = await open(path, 'r+')
  let kept = Buffer.alloc(0)
  for (let offset = 0; ; ) {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, offset + kept.length)
    const bytes = Buffer.concat([kept, buffer.subarray(0, bytesRead)])
    // A name that is split between two parts could not be found.
    const end = bytesRead === 0 ? bytes.length : bytes.lastIndexOf('\n') + 1
    const text = bytes.toString('latin1', 0, end)
    const masked = anonymize.again(text)
    if (masked !== text) await file.write(Buffer.from(masked, 'latin1'), 0, end, offset)
    if (anonymize.isNamed(masked)) return true
    if (bytesRead === 0) return false
    kept = bytes.subarray(end)
    offset += end
  }
}

type Output = { write(bytes: Uint8Array): void; bytes(): number; close(): Promise<void> }

/** Creates the two files of a recording; `failed` is called with the reason when one of them cannot be written. */
function createOutput(path: string, failed: (reason: string) => void): Output {
  const files = createFiles(path)
  const [file, timing] = files
  for (const one of files)
    one.on('error', (error) => {
      const isFull = 'code' in error && error.code === 'ENOSPC'
      const why = isFull ? 'the disk is full: free some space, and record into another file' : error.message
      failed(`cannot write ${path}: ${why}`)
    })
  const startMs = performance.now()
  let offset = 0
  return {
    write(bytes) {
      timing.write(`${offset} ${Math.round(performance.now() - startMs)}\n`)
      file.write(bytes)
      offset += bytes.length
    },
    bytes: () => file.bytesWritten,
    async close() {
      for (const one of files) one.end()
      // An error was reported already.
      await Promise.allSettled(files.map((one) => finished(one)))
      if (offset === 0) for (const one of [path, `${path}.timing`]) rmSync(one, { force: true })
    },
  }
}

/** Creates a file. A recording is never overwritten, since it may be the only one of an incident. */
function createFile(path: string) {
  try {
    return createWriteStream(path, { fd: openSync(path, 'wx', 0o600) })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') throw new Fault('unavailable', `${path} exists already: name another file`)
    throw new Fault('unavailable', `cannot create ${path} (${code}): name a file in a folder that exists`)
  }
}

/** Creates both files of a recording, or none. */
function createFiles(path: string) {
  const file = createFile(path)
  try {
    return [file, createFile(`${path}.timing`)] as const
  } catch (error) {
    file.destroy()
    rmSync(path, { force: true })
    throw error
  }
}

/** Cuts the stream at the ends of frames: a number that is split between two chunks could not be found. */
type Pieces = { add(chunk: Uint8Array): void; cutAt(offset: number): void }

function createPieces(handle: (text: string) => void): Pieces {
  let kept = Buffer.alloc(0)
  let from = 0
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk])
    },
    cutAt(offset) {
      const length = offset - from
      if (length <= 0) return
      handle(kept.toString('latin1', 0, length))
      kept = kept.subarray(length)
      from = offset
    },
  }
}
