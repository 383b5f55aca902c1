import { closeSync, openSync } from 'node:fs'

/** The reason to give up on an address that accepts no connection. */
export class NoConnection extends Error {
  override readonly name = 'NoConnection'
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Returns whether no connection was made, so that nothing can have been sent: another address may be tried. */
export const wasNotConnected = (error: unknown): boolean =>
  error instanceof NoConnection ||
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(codeOf(error))

/** The name has no address, or TLS was not agreed on. */
const BEFORE_REQUEST =
  /^(DNS_|ENOTFOUND|ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|EPROTO|ERR_PROXY_TUNNEL)/
/** Returns whether a request failed before a byte of it was sent. Where this is unknown, it may have been sent. */
export const wasNeverSent = (error: unknown): boolean => wasNotConnected(error) || BEFORE_REQUEST.test(codeOf(error))

/** Returns whether a connection broke before an answer. */
export const wasClosed = (error: unknown): boolean => /^(ConnectionClosed|ECONNRESET|EPIPE)$/.test(codeOf(error))

/** Returns whether a server refused the TLS handshake. */
export const isHandshake = (error: unknown): boolean => codeOf(error) === 'EPROTO'

const OUT_OF_FILES = /^(EMFILE|ENFILE)$/

/**
 * Returns whether an attempt failed because this process, or the machine, has no file descriptor left. A name look-up
 * that cannot open a socket reports that the name server refused, so this is checked after each failure to connect.
 */
export function isOutOfFiles(error: unknown): boolean {
  const code = codeOf(error)
  if (OUT_OF_FILES.test(code)) return true
  if (!wasNotConnected(error) && !code.startsWith('DNS_')) return false
  try {
    closeSync(openSync('/dev/null', 'r'))
    return false
  } catch (why) {
    return OUT_OF_FILES.test(codeOf(why))
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ConnectionRefused: 'connection refused',
  FailedToOpenSocket: 'cannot connect',
  ConnectionClosed: 'connection closed before an answer',
  ECONNRESET: 'connection reset before an answer',
  ECONNREFUSED: 'connection refused',
  // c-ares does not distinguish these two.
  DNS_ENOTFOUND: 'the name is unknown, or has no address',
  DNS_ENODATA: 'the name has no address',
  DNS_ESERVFAIL: 'the name server failed',
  DNS_ETIMEOUT: 'the name server did not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is of an unknown authority, or its chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is of an unknown authority, or its chain is incomplete',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is of an unknown authority',
  EPROTO: 'the TLS handshake failed: does the receiver speak TLS on this port?',
  EHOSTUNREACH: 'there is no route to this address',
  ENETUNREACH: 'there is no route to this address',
  ETIMEDOUT: 'the connection timed out',
  ENOTFOUND: 'the name is unknown',
  ERR_PROXY_TUNNEL: 'the proxy refused the connection',
  Malformed_HTTP_Response: 'the answer is not HTTP',
  InvalidContentLength: 'the answer has a wrong Content-Length',
  ResponseHeadersTooLarge: 'the headers of the answer are too large',
  UnrequestedUpgrade: 'the answer wants another protocol',
}

/** Returns why an attempt failed, in plain words. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  // Removes the URL and the hints for developers that fetch adds.
  const reason = message.replace(/ (fetching "|For more information, ).*$/s, '')
  return REASONS[code] ?? (code === '' ? reason : `${reason} (${code})`)
}
