/** The body of an answer as far as it was read; `text` is `null` if the answer has no body. */
export type AnswerBody = { readonly text: string | null } & (
  | { readonly end: 'whole' | 'longer' }
  | { readonly end: 'broken'; readonly why: string }
)

/**
 * Reads the body of an answer up to a limit, for a time at most (without `waitMs` until the request is aborted). A body
 * that is longer or slower is cut off with its connection; a shorter one is read to its end, so that the connection can
 * be used again. Never rejects.
 */
export async function readBody(
  response: Response,
  { maxBytes, waitMs }: { readonly maxBytes: number; readonly waitMs?: number },
): Promise<AnswerBody> {
  const { body } = response
  if (body === null) return { end: 'whole', text: null }
  const late = Promise.withResolvers<'late'>()
  const timer = waitMs === undefined ? undefined : setTimeout(() => late.resolve('late'), Math.max(0, waitMs))
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let bytes = 0
  let text = ''
  try {
    for (;;) {
      const read = await Promise.race([reader.read(), late.promise])
      if (read === 'late') {
        reader.cancel().catch(() => {})
        return { end: 'broken', text, why: 'did not end in time' }
      }
      if (read.done) return { end: 'whole', text: text + decoder.decode() }
      text += decoder.decode(read.value.subarray(0, maxBytes - bytes), { stream: true })
      bytes += read.value.byteLength
      if (bytes <= maxBytes) continue
      reader.cancel().catch(() => {})
      return { end: 'longer', text }
    }
  } catch {
    return { end: 'broken', text, why: 'broke off' }
  } finally {
    clearTimeout(timer)
  }
}
