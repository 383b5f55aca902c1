import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseRange } from '../../src/recordings/byte-range.ts'

type FileServerOptions = {
  readonly folder: string
  /** The header that a request must have. */
  readonly authorization?: string
  /** `false`: every request gets the whole file. */
  readonly hasRanges?: boolean
  /** Answers in place of the server. */
  readonly answer?: (request: Request) => Response | undefined
}

/** Serves the files of a folder over HTTP, as a PBX's web server does. `requests` are all that it got: method and path. */
export function startFileServer({ folder, authorization, hasRanges = true, answer }: FileServerOptions) {
  const requests: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname } = new URL(request.url)
      requests.push(`${request.method} ${pathname}`)
      const other = answer?.(request)
      if (other !== undefined) return other
      if (authorization !== undefined && request.headers.get('authorization') !== authorization)
        return new Response('no', { status: 401 })
      const path = join(folder, decodeURIComponent(pathname))
      if (!existsSync(path)) return new Response('none', { status: 404 })
      const content = readFileSync(path)
      const range = hasRanges ? parseRange(request.headers.get('range'), content.length) : 'whole'
      const part = typeof range === 'string' ? content : content.subarray(range.start, range.end)
      const headers = new Headers({
        'last-modified': statSync(path).mtime.toUTCString(),
        date: new Date().toUTCString(),
      })
      headers.set('content-length', String(part.length))
      if (typeof range !== 'string')
        headers.set('content-range', `bytes ${range.start}-${range.end - 1}/${content.length}`)
      return new Response(request.method === 'HEAD' ? null : part, { status: range === 'whole' ? 200 : 206, headers })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/`, requests, stop: () => server.stop(true) }
}
