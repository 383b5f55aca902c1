/** Of an answer's body, what is kept for the log. */
export const KEPT_BYTES = 4_096

/** A body's first bytes come with its status or soon after; one that trickles must not hold its call's next event back. */
const BODY_WAIT_MS = 1_000

/**
 * Reads the first 4 KiB of an answer, for a second at most; what is longer or slower is cut off with its connection.
 * A short one is read to its end, so that the connection can be used again.
 */
export async function keptOf(response: Response, leftMs: number): Promise<string | null> {
  const { headers } = response
  // A body in chunks is as long as it is, whatever else is announced.
  const length = Number((headers.has('transfer-encoding') ? null : headers.get('content-length')) ?? Number.NaN)
  // Short and announced: the common case, read at once. What never comes is given up with the attempt's own 10 s. Only to look at
  // `body` would make a stream of it.
  if (length <= KEPT_BYTES) return response.text().catch(() => '')
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
      text += decoder.decode(read.value.subarray(0, KEPT_BYTES - bytes), { stream: true })
      bytes += read.value.byteLength
      if (bytes > KEPT_BYTES) break
    }
  } catch {
    // The answer broke off: its status counts, and what came of it is kept.
    return text
  } finally {
    clearTimeout(timer)
  }
  reader.cancel().catch(() => {})
  return text
}
