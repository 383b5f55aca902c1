import { createEventStreamDecoder } from '../../src/web/browser/lib/event-stream-decoder.ts'

/** Follows the stream of an account until it ends or is dropped. `query`: of the request, such as `?calls=none`. */
export async function followStream(app: { readonly url: string }, token: string, query = '') {
  const over = new AbortController()
  const messages: Parameters<Parameters<typeof createEventStreamDecoder>[0]>[0][] = []
  let text = ''
  const response = await fetch(`${app.url}/stream${query}`, {
    headers: { authorization: `Bearer ${token}` },
    signal: over.signal,
  })
  const decode = createEventStreamDecoder((message) => void messages.push(message))
  const ended = (async () => {
    if (response.body === null) return
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk
      decode(chunk)
    }
  })().catch(() => {})
  const of = (name: string) => messages.filter((message) => message.name === name).map(({ data }) => JSON.parse(data))
  return { response, messages, of, ended, text: () => text, drop: () => over.abort() }
}
