import { createWriteStream, openSync, rmSync } from 'node:fs'
import { Fault } from '../../lib/fault.ts'
import type { PbxSource } from '../../lib/pbx-url.ts'
import { createDialogue } from '../ami/actions.ts'
import { AmiDecoder } from '../ami/decoder.ts'
import { logIn } from '../ami/login.ts'
import { startPings } from '../ami/pings.ts'
import { openLink } from '../connection/socket.ts'
import { PATIENCE } from '../connection/timeouts.ts'
import { createEslDialogue } from '../esl/commands.ts'
import { EslDecoder } from '../esl/decoder.ts'
import { SUBSCRIPTION } from '../esl/events.ts'
import { logInToEsl } from '../esl/login.ts'
import { createMask, type Mask } from './anonymize.ts'

export type Recorder = {
  /** Why it ended: the PBX went away, or refused us; `undefined` if it was stopped. */
  readonly ended: Promise<string | undefined>
  bytes(): number
  stop(): void
}

/** A recording is not overwritten: it may be the only one of what happened. @throws Fault when it is there, or cannot be made. */
function createFile(path: string) {
  try {
    return createWriteStream(path, { fd: openSync(path, 'wx', 0o600) })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EEXIST') throw new Fault('unavailable', `${path} is there already: name another file`)
    throw new Fault('unavailable', `${path} cannot be made (${code}): name a file in a folder that is there`)
  }
}

/**
 * Records what a PBX sends: the bytes in `path`, and in `path`.timing a line `byte-offset milliseconds` for each piece. Where nothing
 * came there are no files.
 * @throws Fault when a file is there already or cannot be made: then nothing was connected.
 */
export function startRecord(source: PbxSource, path: string, { masked = false } = {}): Recorder {
  const { promise: ended, resolve } = Promise.withResolvers<string | undefined>()
  const file = createFile(path)
  const timing = createFile(`${path}.timing`)
  const startMs = performance.now()
  const mask: Mask | undefined = masked ? createMask(crypto.randomUUID()) : undefined
  let offset = 0
  let over = false

  const write = (bytes: Uint8Array): void => {
    timing.write(`${offset} ${Math.round(performance.now() - startMs)}\n`)
    file.write(bytes)
    offset += bytes.length
  }
  const end = (reason: string | undefined): void => {
    if (over) return
    over = true
    talk.stop()
    link.close()
    file.end(() =>
      timing.end(() => {
        if (offset === 0) for (const one of [path, `${path}.timing`]) rmSync(one, { force: true })
        resolve(reason)
      }),
    )
  }
  const link = openLink(
    { host: source.host, port: source.port, tls: source.protocol === 'amis' ? { caFile: source.caFile } : undefined },
    {
      open: () => talk.open(),
      data(chunk) {
        if (mask === undefined) write(chunk)
        talk.data(chunk)
      },
      close: (reason) => end(over ? undefined : reason),
    },
  )
  const wire = { write: (text: string) => link.write(text), end }
  const pieces = mask === undefined ? undefined : createPieces((text) => write(Buffer.from(mask(text), 'latin1')))
  const talk = source.protocol === 'esl' ? talkEsl(source, wire, pieces) : talkAmi(source, wire, pieces)
  return { ended, bytes: () => offset, stop: () => end(undefined) }
}

type Wire = { write(text: string): void; end(reason: string | undefined): void }
type Talk = { open(): void; data(chunk: Uint8Array): void; stop(): void }

/** Cuts the stream where frames end: a number that lies across two chunks could not be found. */
type Pieces = { add(chunk: Uint8Array): void; cutAt(offset: number): void }

function createPieces(take: (text: string) => void): Pieces {
  let kept = Buffer.alloc(0)
  let from = 0
  return {
    add(chunk) {
      kept = Buffer.concat([kept, chunk])
    },
    cutAt(offset) {
      const length = offset - from
      if (length <= 0) return
      take(kept.toString('latin1', 0, length))
      kept = kept.subarray(length)
      from = offset
    },
  }
}

function talkAmi(source: PbxSource, { write, end }: Wire, pieces: Pieces | undefined): Talk {
  const decoder = new AmiDecoder()
  const dialogue = createDialogue(write, PATIENCE)
  let heardMs = performance.now()
  const stopPings = startPings(dialogue, PATIENCE.idleMs, {
    silentMs: () => performance.now() - heardMs,
    dead: () => end('the PBX is silent'),
  })
  const begin = async (): Promise<void> => {
    const login = await logIn(source, dialogue)
    if (login.kind !== 'in') end(login.reason)
    // What is up is a part of the recording: without it the rest of those calls could not be understood.
    else await dialogue.list({ Action: 'Status' })
    // Nor is which endpoints are phones; other lists of the configuration hold what is nobody's business.
    await dialogue.list({ Action: 'ExtensionStateList' })
  }
  return {
    open: () => void begin(),
    data(chunk) {
      heardMs = performance.now()
      pieces?.add(chunk)
      for (const frame of decoder.push(chunk)) dialogue.take(frame)
      pieces?.cutAt(decoder.consumed)
      if (decoder.fault !== undefined) end(decoder.fault)
    },
    stop() {
      stopPings()
      dialogue.close()
    },
  }
}

function talkEsl(source: PbxSource, { write, end }: Wire, pieces: Pieces | undefined): Talk {
  const decoder = new EslDecoder()
  const dialogue = createEslDialogue(write, PATIENCE.replyMs, end)
  const begin = async (): Promise<void> => {
    const login = await logInToEsl(source, dialogue, SUBSCRIPTION)
    if (login.kind !== 'in') return end(login.reason)
    await dialogue.ask('api show channels as json')
    await dialogue.ask('api show calls as json')
  }
  return {
    open() {},
    data(chunk) {
      pieces?.add(chunk)
      for (const frame of decoder.push(chunk)) {
        if (frame.contentType === 'auth/request') void begin()
        else dialogue.take(frame)
      }
      pieces?.cutAt(decoder.consumed)
      if (decoder.fault !== undefined) end(decoder.fault)
    },
    stop: () => dialogue.close(),
  }
}
