import { expect, test } from 'bun:test'
import { createInbox } from '../../../src/pbx/connection/inbox.ts'
import type { InboxEntry } from '../../../src/pbx/connection/inbox-entry.ts'
import { createCommands } from '../../../src/pbx/esl/commands.ts'
import { EslDecoder, type EslFrame } from '../../../src/pbx/esl/decoder.ts'
import { createSnapshotRequest } from '../../../src/pbx/esl/snapshot-request.ts'

const text = (type: string, body: string): string => `Content-Type: ${type}\nContent-Length: ${body.length}\n\n${body}`

/** A FreeSWITCH that answers each command at once, with no channels, and its first lists once `catchUp` was called. */
function connected(nowUs: () => number) {
  const decoder = new EslDecoder()
  const asked: string[] = []
  const { promise: listsCatchUp, resolve: catchUp } = Promise.withResolvers<void>()
  const commands = createCommands({
    write(line) {
      asked.push(line.trim().replace(/^api /, ''))
      const body = line.includes('strmicroepoch') ? '1795959582149398' : '{"row_count":0}'
      queueMicrotask(() => read(text('api/response', body)))
    },
    replyMs: 60_000,
    lost: () => {},
  })
  const inbox = createInbox<InboxEntry<EslFrame>>({ isSheddable: () => false })
  const request = createSnapshotRequest(commands, { nowUs, listsCatchUp: () => listsCatchUp })
  function read(bytes: string): void {
    for (const frame of decoder.push(Buffer.from(bytes)))
      if (!commands.receive(frame)) inbox.push({ frame, arrivedUs: nowUs() })
  }
  return { asked, catchUp, inbox, read, request: () => request(inbox) }
}

const event = (name: string): string =>
  text('text/event-json', JSON.stringify({ 'Event-Name': name, 'Unique-ID': 'a' }))
const LISTS = ['show channels as json', 'show calls as json']

test('the first lists are requested once FreeSWITCH has written what happened before the connection', async () => {
  let clockUs = 1_000_000
  const { asked, catchUp, inbox, read, request } = connected(() => clockUs)
  inbox.pause()
  const first = request()
  expect(asked).toEqual(['strmicroepoch'])
  clockUs = 1_200_000
  read(event('CHANNEL_ANSWER'))
  clockUs = 1_300_000
  catchUp()
  expect(await first).toBe(true)
  expect(asked).toEqual(['strmicroepoch', ...LISTS])
  // The list is that of the first request, and has the event that came before its answer.
  const [list] = inbox.waiting()
  expect(list).toMatchObject({ arrivedUs: 1_000_000, about: { earlier: [{ event: { name: 'CHANNEL_ANSWER' } }] } })
})

test('a later list is requested at once: what happened before it is in the events', async () => {
  const { asked, catchUp, request } = connected(() => 1_000_000)
  catchUp()
  await request()
  asked.length = 0
  const later = request()
  expect(asked).toEqual(['strmicroepoch', ...LISTS])
  expect(await later).toBe(true)
})
