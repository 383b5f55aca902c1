import { limitedReads, READ_LIMITS, type ReadLimits } from './read-limits.ts'
import type { Opened, OpenFile, Source } from './source.ts'

type HttpSourceOptions = {
  /** Ends with a slash. */
  readonly url: string
  /** The header `Authorization`. */
  readonly authorization?: string | undefined
  readonly limits?: ReadLimits
}

/**
 * Creates a source of the files below a URL. A redirect is a failure, so that no other host is asked. Names are
 * percent-encoded, so that none can mean another path.
 */
export function createHttpSource({ url, authorization, limits = READ_LIMITS }: HttpSourceOptions): Source {
  const request = async (file: string, init: { method: string; range?: string }) => {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error('it does not answer')), limits.answerMs)
    try {
      const response = await fetch(file, {
        method: init.method,
        headers: {
          'accept-encoding': 'identity',
          ...(authorization === undefined ? {} : { authorization }),
          ...(init.range === undefined ? {} : { range: init.range }),
        },
        redirect: 'manual',
        decompress: false,
        proxy: false,
        signal: controller.signal,
      })
      return { response, controller }
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    async open(segments) {
      if (segments.some((name) => name === '' || name === '.' || name === '..'))
        return { kind: 'missing', reason: 'the path leads out of the folder' }
      const file = url + segments.map((name) => encodeURIComponent(name)).join('/')
      try {
        const { response } = await request(file, { method: 'HEAD' })
        const problem = problemOf(response)
        if (problem !== undefined) return problem
        return { kind: 'file', file: remoteFile(response.headers, file, { request, limits }) }
      } catch (error) {
        return { kind: 'unavailable', reason: connectionProblem(error) }
      }
    },
  }
}

function connectionProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : ''
  if (code === 'ECONNREFUSED' || code === 'ConnectionRefused')
    return 'the connection is refused: check its host and port, and that the server runs'
  return error instanceof Error ? error.message : String(error)
}

type Request = (
  file: string,
  init: { method: string; range?: string },
) => Promise<{ response: Response; controller: AbortController }>

function problemOf({ status, headers }: Response): Opened | undefined {
  const unavailable = (reason: string): Opened => ({ kind: 'unavailable', reason })
  if (status === 404 || status === 410) return { kind: 'missing', reason: `the server answers ${status}: no such file` }
  if (status === 401 || status === 403)
    return unavailable(`the server answers ${status}: check user and password, or recordings_token, in the PBX URL`)
  if (status >= 300 && status < 400)
    return unavailable(`the server redirects (${status}), which is not followed: give the final URL`)
  if (status !== 200) return unavailable(`the server answers ${status}`)
  if (/^text\/html\b/i.test(headers.get('content-type') ?? ''))
    return unavailable('the server answers with a page and not with a file: it may ask for a login')
  if (!/^\d+$/.test(headers.get('content-length') ?? ''))
    return unavailable('the server does not answer with the size of the file (Content-Length)')
  return undefined
}

type Access = { readonly request: Request; readonly limits: ReadLimits }

function remoteFile(headers: Headers, file: string, access: Access): OpenFile {
  const size = Number(headers.get('content-length'))
  const modifiedMs = Date.parse(headers.get('last-modified') ?? '')
  const ageMs = Date.parse(headers.get('date') ?? '') - modifiedMs
  return {
    size,
    stamp: `${size}-${headers.get('etag') ?? ''}-${headers.get('last-modified') ?? ''}`,
    modifiedMs: Number.isNaN(modifiedMs) ? null : modifiedMs,
    ageMs: Number.isNaN(ageMs) ? null : ageMs,
    read: (start, end) => remoteStream(file, { start, end, size }, access),
    close: async () => undefined,
  }
}

type Part = { readonly start: number; readonly end: number; readonly size: number }

function remoteStream(file: string, part: Part, access: Access): ReadableStream<Uint8Array<ArrayBuffer>> {
  let reading: Promise<Reading> | undefined
  let left = part.end - part.start
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        if (left === 0) return controller.close()
        reading ??= startReading(file, part, access)
        const sent = await (await reading).next()
        const chunk = sent.subarray(0, left)
        left -= chunk.length
        controller.enqueue(chunk)
        if (left > 0) return
        await (await reading).finish(sent.length > chunk.length)
        controller.close()
      },
      async cancel() {
        // A reading that failed has stopped.
        await reading?.then(({ stop }) => stop()).catch(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
}

type Reading = {
  next(): Promise<Uint8Array<ArrayBuffer>>
  /** Ends the request. @throws Error if a whole file was requested, and the server sends more than its size. */
  finish(hasSurplus: boolean): Promise<void>
  stop(): Promise<void>
}

async function startReading(file: string, { start, end, size }: Part, { request, limits }: Access): Promise<Reading> {
  const isWhole = start === 0 && end === size
  const range = isWhole ? {} : { range: `bytes=${start}-${end - 1}` }
  const { response, controller } = await request(file, { method: 'GET', ...range })
  const isPart =
    response.status === 206 && response.headers.get('content-range')?.startsWith(`bytes ${start}-`) === true
  if (!isPart && response.status !== 200) {
    controller.abort()
    throw new Error(`the server answers ${response.status} to the request for the file`)
  }
  const total = sizeIn(response.headers, isPart)
  if (total !== null && total !== size) {
    controller.abort()
    throw new Error(`the file has ${total} bytes now and had ${size}: it is still being written`)
  }
  const reader = response.body?.getReader()
  // A server without ranges sends the whole file.
  let skip = isPart ? 0 : start
  const limited = limitedReads(limits)
  const read = async () => (await reader?.read())?.value
  async function next(): Promise<Uint8Array<ArrayBuffer>> {
    for (;;) {
      const value = await limited(read).catch((error) => {
        controller.abort()
        throw error
      })
      if (value === undefined) throw new Error('the server ended before the end of the file')
      if (value.length > skip) {
        const chunk = value.subarray(skip)
        skip = 0
        return chunk
      }
      skip -= value.length
    }
  }
  const stop = async () => {
    await reader?.cancel().catch(() => undefined)
    controller.abort()
  }
  async function finish(hasSurplus: boolean): Promise<void> {
    try {
      // An answer that names its size ends there.
      if (isWhole && total === null && (hasSurplus || (await limited(read)) !== undefined))
        throw new Error(`the server sends more than the ${size} bytes of the file: it is still being written`)
    } finally {
      await stop()
    }
  }
  return { next, finish, stop }
}

/** Returns the size of the whole file that an answer names; `null` if it names none. */
function sizeIn(headers: Headers, isPart: boolean): number | null {
  const named = isPart ? /\/(\d+)$/.exec(headers.get('content-range') ?? '')?.[1] : headers.get('content-length')
  return named === undefined || named === null ? null : Number(named)
}
