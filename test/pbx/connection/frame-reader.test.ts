import { describe, expect, test } from 'bun:test'
import { createLog, type Log } from '../../../src/lib/log.ts'
import { createEnding } from '../../../src/pbx/connection/ending.ts'
import { createFrameReader } from '../../../src/pbx/connection/frame-reader.ts'
import { createInbox } from '../../../src/pbx/connection/inbox.ts'
import type { InboxEntry } from '../../../src/pbx/connection/inbox-entry.ts'
import type { Protocol } from '../../../src/pbx/connection/protocol.ts'

/** Frames of one letter each. */
const protocol = {
  decoder: { push: (chunk: Uint8Array) => Buffer.from(chunk).toString(), fault: undefined, longLines: 0 },
  receive: () => ({ kind: 'event' }),
  statesOf: () => [],
} as unknown as Protocol<string>

/** Returns a reader whose inbox has room for `maxBytes`, and counts the snapshots that it requests. */
function readerOf(maxBytes: number, of = protocol, log: Log = createLog('silent')) {
  const counts = { events: 0, taints: 0, overruns: 0, longLines: 0, faults: 0 }
  const inbox = createInbox<InboxEntry<string>>({ maxBytes, isSheddable: () => false, defer: () => {} })
  let isWanted = false
  const resync = {
    first: async () => true,
    request() {
      const isNew = !isWanted
      isWanted = true
      return isNew
    },
    stop() {},
  }
  let read = (_: Uint8Array): void => {}
  const socket = {
    opened: Promise.resolve(true),
    closed: new Promise<string>(() => {}),
    read(handle: (chunk: Uint8Array) => void) {
      read = handle
    },
    write() {},
    close() {},
  }
  const inventory = { refresh: async () => {}, schedule() {}, stop() {} }
  const states = { begin() {}, schedule() {}, stop() {} }
  const parts = { socket, protocol: of, inbox, resync, inventory, states, ending: createEnding() }
  createFrameReader({
    ...parts,
    name: 'office',
    counts,
    stateFeed: () => {},
    log,
    nowUs: () => 0,
  }).start()
  return {
    inbox,
    counts,
    read: (text: string) => read(Buffer.from(text)),
    /** Begins the snapshot that was requested; returns whether one was. */
    beginSnapshot() {
      const was = isWanted
      isWanted = false
      return was
    },
  }
}

describe('the reader of frames, when its inbox is full', () => {
  test('drops all frames of a chunk that has no place, not the first of them alone', () => {
    const { inbox, read } = readerOf(10)
    read('abcdef')
    for (let chunk = 0; chunk < 100; chunk += 1) read('ghijkl')
    expect(inbox.waiting()).toHaveLength(6)
    expect(inbox.dropped()).toBe(600)
    inbox.drain()
    read('mnopqr')
    expect(inbox.waiting()).toHaveLength(6)
  })

  test('requests a snapshot after each loss that came later than the last one, and counts these', () => {
    const { counts, read, beginSnapshot } = readerOf(10)
    for (const chunk of ['abcdef', 'ghijkl', 'mnopqr']) read(chunk)
    expect(beginSnapshot()).toBe(true)
    expect(counts.overruns).toBe(1)
    read('stuvwx')
    expect(beginSnapshot()).toBe(true)
    expect(counts.overruns).toBe(2)
  })
})

test('lines that the decoder leaves out are counted, and logged once', () => {
  const logged: string[] = []
  const log = { ...createLog('silent'), warn: (_: unknown, text?: string) => void logged.push(text ?? '') }
  const decoder = {
    longLines: 0,
    fault: undefined,
    push(chunk: Uint8Array) {
      decoder.longLines += Buffer.from(chunk).toString().split('L').length - 1
      return ['frame']
    },
  }
  const { counts, read, inbox } = readerOf(1_000, { ...protocol, decoder } as unknown as Protocol<string>, log)
  for (const chunk of ['a', 'L', 'LL', 'b']) read(chunk)
  expect(counts.longLines).toBe(3)
  expect(inbox.waiting()).toHaveLength(4)
  expect(logged).toEqual([expect.stringContaining('a line that is too long')])
})
