import type { FieldError } from '../../../lib/fault.ts'
import { accessToken, clearToken } from './session.ts'

/** The outcome of a request: the envelope's result, or the reason why it failed, for people. */
export type ApiResult<T> =
  | { ok: true; result: T; etag: string | null; message: string }
  | { ok: false; status: number; message: string; errors: readonly FieldError[] }

export type QueryParameters = Readonly<Record<string, string | undefined>>

/** Returns the path with the query's non-empty values appended. */
export function withQuery(path: string, query: QueryParameters): string {
  const pairs = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Returns the header that carries the session's token; empty when nobody is logged in. */
export function authorizationHeader(): Record<string, string> {
  const token = accessToken.get()
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/** Sends one request to the API. Never throws: a failure on the way is a result with status 0. */
export async function request<T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResult<T>> {
  const sentWith = accessToken.get()
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...authorizationHeader(),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
    })
    const isAboutToken = response.status === 401 && path !== '/auth/welcome'
    if (isAboutToken && sentWith !== null && accessToken.get() === sentWith)
      clearToken('Your session has ended. Please log in again.')
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

/** Returns the messages of a failed request's fields, or its own message when no field is at fault. */
export function errorText(failed: { message: string; errors: readonly FieldError[] }): string {
  return failed.errors.map((error) => error.message).join(' ') || failed.message
}

/** Saves an answer of the API as a file. Returns the error, or `null`. */
export async function downloadFile(path: string, type: string, name: string): Promise<string | null> {
  try {
    const response = await fetch(path, { headers: { accept: type, ...authorizationHeader() }, credentials: 'omit' })
    if (!response.ok) {
      const envelope: unknown = await response.json()
      return typeof envelope === 'object' && envelope !== null && 'message' in envelope
        ? String(envelope.message)
        : `The service answered ${response.status}.`
    }
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = name
    link.click()
    URL.revokeObjectURL(link.href)
    return null
  } catch {
    return 'Hookswitch does not answer. Is it running?'
  }
}
