import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RecordingRef } from '../store/operations/recordings.ts'

/** Returns the path of a recording in the API. */
const recordingPath = ({ callId, recordingId }: RecordingRef): string =>
  `/call/${encodeURIComponent(callId)}/recording/${encodeURIComponent(recordingId)}`

/** Returns the path of a recording with a query that opens it without a token until a time (seconds since 1970). */
export function signedPath(key: string, ref: RecordingRef, expiresS: number): string {
  const expires = String(expiresS)
  return `${recordingPath(ref)}?expires=${expires}&signature=${macOf(key, ref, expires).toString('base64url')}`
}

/** The query of a link, as a client sent it. */
export type LinkQuery = { readonly expires?: string | undefined; readonly signature?: string | undefined }

/**
 * Checks whether a link opens a recording at a time. A wrong signature, another recording and an expired link take the
 * same time, so that nothing can be learnt from it.
 */
export function isLinkValid(key: string, ref: RecordingRef, { expires = '', signature = '' }: LinkQuery, nowS: number) {
  const expected = macOf(key, ref, expires)
  const given = Buffer.alloc(expected.length)
  const isOfLength = /^[\w-]{43}$/.test(signature)
  if (isOfLength) given.write(signature, 'base64url')
  // Another spelling of the same bytes is refused too: a link has one form.
  const isSpelledSo = given.toString('base64url') === signature
  const isSigned = timingSafeEqual(expected, given)
  const isInTime = /^\d{1,12}$/.test(expires) && nowS <= Number(expires)
  return isOfLength && isSpelledSo && isSigned && isInTime
}

/** Each part is encoded, so that no two links have the same text. */
const macOf = (key: string, ref: RecordingRef, expires: string): Buffer =>
  createHmac('sha256', key)
    .update(`recording\n${recordingPath(ref)}\n${encodeURIComponent(expires.toWellFormed())}`)
    .digest()
