import { createHmac, timingSafeEqual } from 'node:crypto'

const PREFIX = 'whsec_'

/** How far the time of a request may be from this clock, as Standard Webhooks has it. */
const TOLERANCE_S = 5 * 60

/** The headers of a request, with names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Returns why a request of Hookswitch is refused (Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`), `undefined` if
 * one of its signatures is valid.
 */
export function faultOf(secret: string, headers: Headers, body: Uint8Array, nowS: number): string | undefined {
  const header = (name: string): string => {
    const value = headers[name]
    return typeof value === 'string' ? value : ''
  }
  const id = header('webhook-id')
  const timestamp = header('webhook-timestamp')
  const signatures = header('webhook-signature').split(' ').filter(Boolean)
  if (id === '' || !/^\d+$/.test(timestamp) || signatures.length === 0) return 'The request is not signed.'
  if (Math.abs(nowS - Number(timestamp)) > TOLERANCE_S) return 'The request is too old, or a clock is wrong.'
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
  const isValid = signatures.some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return signature.startsWith('v1,') && given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isValid ? undefined : 'The signature is wrong.'
}
