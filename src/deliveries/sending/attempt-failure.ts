import { closeSync, openSync } from 'node:fs'

/** An attempt that this machine's own limits kept from being made. */
export class NotSent extends Error {
  override readonly name = 'NotSent'
}

/** The reason with which an attempt to one address is given up when that takes no connection. */
export class NoConnection extends Error {
  override readonly name = 'NoConnection'
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

/** Whether no connection came about, so that nothing can have been sent: another address may be tried. */
export const wasNotConnected = (error: unknown): boolean =>
  error instanceof NoConnection ||
  /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/.test(codeOf(error))

/** Whether a connection broke before an answer. */
export const wasClosed = (error: unknown): boolean => /^(ConnectionClosed|ECONNRESET|EPIPE)$/.test(codeOf(error))

const OUT_OF_FILES = /^(EMFILE|ENFILE)$/

/**
 * Whether an attempt failed because this process, or the machine, has no file descriptor left. A look-up that cannot open a socket says
 * that the name server refused, so whatever did not connect is looked into.
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
  // c-ares does not tell these two apart.
  DNS_ENOTFOUND: 'the name is unknown, or has no address',
  DNS_ENODATA: 'the name has no address',
  DNS_ESERVFAIL: 'the name server failed',
  DNS_ETIMEOUT: 'the name server did not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is of an unknown authority, or its chain is not whole',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the certificate is of an unknown authority, or its chain is not whole',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is of an unknown authority',
  EPROTO: 'the TLS handshake failed: does the receiver speak TLS on this port?',
  EHOSTUNREACH: 'there is no way to this address',
  ENETUNREACH: 'there is no way to this address',
  ETIMEDOUT: 'the connection timed out',
  ENOTFOUND: 'the name is unknown',
  ERR_PROXY_TUNNEL: 'the proxy refused the connection',
  Malformed_HTTP_Response: 'the answer is not HTTP',
  UnrequestedUpgrade: 'the answer wants another protocol',
}

/** Returns what went wrong with an attempt, in plain words. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1_000} s`
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  // What fetch adds for developers, the URL too, is none of the log's business.
  const told = message.replace(/ (fetching "|For more information, ).*$/s, '')
  return REASONS[code] ?? (code === '' ? told : `${told} (${code})`)
}
