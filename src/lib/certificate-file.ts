import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** The certificates that a system trusts take some 200 KB. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads a file of certificates (PEM). A device or a pipe is never read: it may have no end.
 * @throws Error with the reason.
 */
export function readCertificates(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new Error(`${path} is not a regular file`)
    if (stats.size > MAX_BYTES) throw new Error(`${path} is too large for a file of certificates`)
    const bytes = Buffer.alloc(stats.size)
    const text = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0))
    if (!text.includes('-----BEGIN ')) throw new Error(`${path} has no certificate (PEM)`)
    return text
  } finally {
    closeSync(file)
  }
}

/** Returns whether a file can be read and has certificates. */
export function hasCertificates(path: string): boolean {
  try {
    readCertificates(path)
    return true
  } catch {
    return false
  }
}
