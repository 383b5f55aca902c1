import { expect, test } from 'bun:test'
import { createEventStreamDecoder } from '../../../src/web/browser/lib/event-stream-decoder.ts'

type ServerMessage = Parameters<Parameters<typeof createEventStreamDecoder>[0]>[0]

const decode = (...chunks: string[]): ServerMessage[] => {
  const messages: ServerMessage[] = []
  const feed = createEventStreamDecoder((message) => messages.push(message))
  for (const chunk of chunks) feed(chunk)
  return messages
}

test.each([
  ['a message has a name and data', 'event: call\ndata: {"a":1}\n\n', [{ name: 'call', data: '{"a":1}' }]],
  ['a comment is no message', ': still here\n\n', []],
  ['several lines of data are one text', 'data: a\ndata: b\n\n', [{ name: 'message', data: 'a\nb' }]],
  ['lines may end with CR LF', 'event: x\r\ndata: 1\r\n\r\n', [{ name: 'x', data: '1' }]],
  ['a name without data is no message', 'event: x\n\n', []],
  ['an unfinished message is not delivered', 'event: x\ndata: 1\n', []],
] as const)('%s', (_, text, expected) => expect(decode(text)).toEqual([...expected]))

test('a stream may be cut anywhere', () => {
  const text = 'event: call\ndata: {"n":"ä"}\n\n: c\n\nevent: delivery\ndata: 2\n\n'
  for (let at = 0; at <= text.length; at++)
    expect(decode(text.slice(0, at), text.slice(at))).toEqual([
      { name: 'call', data: '{"n":"ä"}' },
      { name: 'delivery', data: '2' },
    ])
})
