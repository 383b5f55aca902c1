/** One message of an event stream. */
type ServerMessage = { name: string; data: string }

/**
 * Makes a decoder of `text/event-stream` (WHATWG HTML, 9.2.6) that is fed chunks of text; comments and unknown fields
 * are skipped. The browser's EventSource is not used because it cannot send an Authorization header.
 */
export function createEventStreamDecoder(onMessage: (message: ServerMessage) => void): (chunk: string) => void {
  let rest = ''
  let name = ''
  let data: string[] = []
  const decodeLine = (text: string) => {
    if (text === '') {
      if (data.length > 0) onMessage({ name: name === '' ? 'message' : name, data: data.join('\n') })
      name = ''
      data = []
      return
    }
    const colon = text.indexOf(':')
    const field = colon < 0 ? text : text.slice(0, colon)
    const value = colon < 0 ? '' : text.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') name = value
    else if (field === 'data') data.push(value)
  }
  return (chunk) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) decodeLine(text.endsWith('\r') ? text.slice(0, -1) : text)
  }
}
