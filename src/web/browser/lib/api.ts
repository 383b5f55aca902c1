import type { FieldError } from '../../../lib/fault.ts'
import { dropToken, token } from './session.ts'

/** What came back: the envelope's result, or why not, in words for people. */
export type Answer<T> =
  | { ok: true; result: T; etag: string | null; message: string }
  | { ok: false; status: number; message: string; errors: readonly FieldError[] }

export type Query = Readonly<Record<string, string | undefined>>

export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? path : `${path}?${text}`
}

export function authorization(): Record<string, string> {
  const held = token.get()
  return held === null ? {} : { authorization: `Bearer ${held}` }
}

/** One request of the API. It never throws: what goes wrong on the way is an answer with status 0. */
export async function request<T>(
  method: 'GET' | 'POST' | 'PUT',
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer<T>> {
  const sentWith = token.get()
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...authorization(),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
    })
    if (response.status === 401 && sentWith !== null && token.get() === sentWith)
      dropToken('Your session has ended. Please log in again.')
    const envelope = await response.json()
    if (response.ok)
      return { ok: true, result: envelope.result, etag: response.headers.get('etag'), message: envelope.message }
    return {
      ok: false,
      status: response.status,
      message: String(envelope.message),
      errors: envelope.result?.errors ?? [],
    }
  } catch {
    return { ok: false, status: 0, message: 'Hookswitch does not answer. Is it running?', errors: [] }
  }
}
