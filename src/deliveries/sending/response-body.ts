/** The log has the first bytes of an answer's body. */
export const LOGGED_BYTES = 4_096

/** The first bytes of a body come with its status or soon after; one that trickles must not delay the next event. */
const BODY_WAIT_MS = 1_000

/**
 * Returns the first 4 KiB of an answer's body, or `null` if it has none. Reads for a second at most; a body that is
 * longer or slower is cut off with its connection. A short one is read to its end, so that the connection can be used
 * again.
 */
export async function readLogged(response: Response, leftMs: number): Promise<string | null> {
  const { headers } = response
  // The announced length of a body in chunks means nothing.
  const length = Number((headers.has('transfer-encoding') ? null : headers.get('content-length')) ?? Number.NaN)
  // Short and announced: the common case, read at once, and ended by the 10 s of the attempt if it never comes. Even
  // reading the property `body` would make a stream of it.
  if (length <= LOGGED_BYTES) return response.text().catch(() => '')
  const { body } = response
  if (body === null) return null
  const deadline = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => deadline.resolve('late'), Math.max(0, Math.min(leftMs, BODY_WAIT_MS)))
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), deadline.promise])
      if (read === 'late') break
      if (read.done) return text + decoder.decode()
      text += decoder.decode(read.value.subarray(0, LOGGED_BYTES - bytes), { stream: true })
      bytes += read.value.byteLength
      if (bytes > LOGGED_BYTES) break
    }
  } catch {
    // The answer broke off: its status counts, and the log has the part that came.
    return text
  } finally {
    clearTimeout(timer)
  }
  reader.cancel().catch(() => {})
  return text
}
