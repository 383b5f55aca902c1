import { Elysia, t } from 'elysia'
import { type AuthService, accountSession, guard, headerToken } from '../auth/auth.ts'
import { accepts } from '../http/accepts.ts'
import { matchesAny } from '../http/entity-tag.ts'
import { Failure, responses, success } from '../http/envelope.ts'
import { named, UUID } from '../lib/api-schema.ts'
import { Fault } from '../lib/fault.ts'
import { nextTurn } from '../lib/slices.ts'
import { rfc3339 } from '../lib/time.ts'
import type { RecordingRecord, RecordingRef } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'
import { parseRange } from './byte-range.ts'
import type { Links } from './links.ts'
import type { ReadyFile, RecordingFiles } from './recording-files.ts'
import { fileBody, statedLength } from './response-body.ts'

/** A client that receives nothing for this long is disconnected. */
const SILENT_FOR_S = 120

type RecordingRoutesOptions = {
  readonly recordings: Store['recordings']
  readonly links: Links
  readonly files: RecordingFiles
}

const Query = t.Object(
  {
    expires: t.Optional(
      t.String({
        description: 'In a link: until when it is valid (seconds since 1970)',
        form: { pattern: '^[0-9]{1,12}$' },
      }),
    ),
    signature: t.Optional(
      t.String({ description: 'In a link: its signature', form: { pattern: '^[A-Za-z0-9_-]{43}$' } }),
    ),
  },
  { additionalProperties: true },
)

const Params = t.Object({
  id: t.String({ description: 'The id of the call', form: UUID }),
  recording: t.String({ description: 'The id of the recording', form: UUID }),
})

const SOUND = { 'audio/*': { schema: { type: 'string' as const, format: 'binary' } } }

/** Serves the files of recordings, to a token of their account or to a link. */
export function recordingRoutes(auth: AuthService, { recordings, links, files }: RecordingRoutesOptions) {
  async function find(ref: RecordingRef, asked: { request: Request; token?: string; query: typeof Query.static }) {
    const { token, query } = asked
    if (query.signature !== undefined || query.expires !== undefined) {
      if (await links.isValid(ref, query)) return recordings.recordingGet(ref)
      if (!token) throw new Fault('forbidden', 'The link is wrong or has expired. Ask for a new one.')
    }
    const { user } = await accountSession(auth, { ...asked, token })
    const found = await recordings.recordingGet(ref)
    return found?.accountId === user.accountId ? found : undefined
  }
  const answer = async ({ params, query, bearer, request, server, set }: Context) => {
    await nextTurn()
    const ref = { callId: params.id, recordingId: params.recording }
    const recording = await find(ref, { request, query, ...(bearer && { token: bearer }) })
    if (recording === undefined) throw new Fault('not_found', 'There is no such recording.')
    // Set before the file is opened, so that a slow place is reported as a fault, not as a broken connection.
    server?.timeout(request, SILENT_FOR_S)
    const ready = await files.open(recording)
    return respond(request, recording, { ready, requestId: String(set.headers['x-request-id'] ?? '') })
  }
  const path = '/call/:id/recording/:recording'
  return new Elysia({ name: 'recordings', normalize: false }).use(headerToken).get(path, answer, {
    params: Params,
    query: Query,
    response: { 401: Failure, 403: Failure, 404: Failure, 409: Failure, 413: Failure, 416: Failure },
    detail: {
      tags: ['Calls'],
      summary: 'The sound of one recording',
      description: 'The file, or the range of it that is asked for (206). With a token, or with a link as in `url`.',
      security: [{ bearer: [] }, {}],
      responses: {
        200: { description: 'The file', content: SOUND },
        206: { description: 'The range of it', content: SOUND },
        304: { description: 'It is the one that the client has' },
      },
    },
  })
}

/** How long a page that is left open can play recordings. */
const OWN_LINK_MS = 3_600_000

const Link = named(
  'RecordingLink',
  t.Object({
    path: t.String({ description: 'The link, below the address of this service', form: { format: 'uri-reference' } }),
    expires_at: t.String({ format: 'date-time', description: 'Until when it is valid' }),
  }),
)

/** Gives users links to recordings for players that cannot send a token, as in the page. */
export function recordingLinkRoutes(auth: AuthService, { recordings, links }: RecordingRoutesOptions) {
  return new Elysia({ name: 'recording-links', normalize: false })
    .use(accepts)
    .use(guard(auth))
    .get(
      '/call/:id/recording/:recording/link',
      async ({ accountId, params }) => {
        const ref = { callId: params.id, recordingId: params.recording }
        const found = await recordings.recordingGet(ref)
        if (found?.accountId !== accountId) throw new Fault('not_found', 'There is no such recording.')
        const { path, untilUs } = links.pathOf(ref, OWN_LINK_MS)
        return success({ path, expires_at: rfc3339(untilUs) }, 'This link opens the recording for an hour.')
      },
      {
        params: Params,
        response: responses(Link, 'unauthenticated', 'not_found'),
        detail: {
          tags: ['Calls'],
          summary: 'A link below this server that opens one recording without a token, for an hour',
          description: 'For players that cannot send a header.',
          security: [{ bearer: [] }],
        },
      },
    )
}

type Context = {
  readonly params: { readonly id: string; readonly recording: string }
  readonly query: typeof Query.static
  readonly bearer: string | undefined
  readonly request: Request
  readonly server: { timeout(request: Request, seconds: number): void } | null
  readonly set: { readonly headers: Readonly<Record<string, unknown>> }
}

type Answer = { readonly ready: ReadyFile; readonly requestId: string }

async function respond(request: Request, recording: RecordingRecord, { ready, requestId }: Answer) {
  const { file, etag, mediaType } = ready
  const modified = file.modifiedMs === null ? null : new Date(file.modifiedMs).toUTCString()
  const headers = new Headers({
    'content-type': mediaType,
    'content-disposition': dispositionOf(recording, mediaType),
    'accept-ranges': 'bytes',
    etag,
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'referrer-policy': 'no-referrer',
    'x-request-id': requestId,
    // Before a file, Bun's server sends its own in four packets.
    date: new Date().toUTCString(),
    ...(modified === null ? {} : { 'last-modified': modified }),
  })
  if (matchesAny(request.headers.get('if-none-match'), etag)) {
    await file.close()
    return new Response(null, { status: 304, headers })
  }
  const isRangeWanted = isUnchanged(request.headers.get('if-range'), etag, modified)
  const range = parseRange(isRangeWanted ? request.headers.get('range') : null, file.size)
  if (range === 'unsatisfiable') {
    await file.close()
    throw new Fault('range_not_satisfiable', `The recording has ${file.size} bytes: request a range within them.`, {
      headers: { 'content-range': `bytes */${file.size}` },
    })
  }
  const { start, end } = range === 'whole' ? { start: 0, end: file.size } : range
  if (range !== 'whole') headers.set('content-range', `bytes ${start}-${end - 1}/${file.size}`)
  headers.set('content-length', String(end - start))
  const status = range === 'whole' ? 200 : 206
  if (request.method !== 'HEAD') return new Response(await fileBody(file, start, end), { status, headers })
  await file.close()
  return new Response(statedLength(end - start), { status, headers })
}

/**
 * Returns whether a range may be sent: a client with the start of another file must get the whole (RFC 9110, 13.1.5).
 */
function isUnchanged(ifRange: string | null, etag: string, modified: string | null): boolean {
  if (ifRange === null) return true
  const given = ifRange.trim()
  return given.startsWith('"') ? given === etag : given === modified
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/basic': 'au',
  'audio/mp4': 'm4a',
}

/** A file that is no sound is only to be saved: a browser must not show it. */
function dispositionOf({ path }: RecordingRecord, mediaType: string): string {
  const extension = EXTENSIONS[mediaType.replace(/;.*$/, '')]
  const reported = path.split(/[\\/]/).at(-1) ?? ''
  const name = extension === undefined ? reported : `${reported.replace(/\.[A-Za-z0-9]{1,5}$/, '')}.${extension}`
  const plain = name.replace(/[^\w.+ -]/g, '_')
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*!]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  )
  return `${extension === undefined ? 'attachment' : 'inline'}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
