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

type Options = { readonly of?: typeof protocol; readonly log?: Log; readonly aheadBytes?: number }

/** Returns a reader whose inbox has room for `maxBytes`, and counts the snapshots that it requests. */
function readerOf(maxBytes: number, options: Options = {}) {
  const { of = protocol, log = createLog('silent'), aheadBytes = Number.POSITIVE_INFINITY } = options
  const counts = { events: 0, taints: 0, overruns: 0, longLines: 0, faults: 0 }
  const inbox = createInbox<InboxEntry<string>>({ maxBytes, aheadBytes, isSheddable: () => false, defer: () => {} })
  // Its first lists are there.
  void inbox.next()
  let isWanted = false
  let isPaused = false
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
    pause() {
      isPaused = true
    },
    resume() {
      isPaused = false
    },
    write() {},
    close() {},
  }
  const inventory = { refresh: async () => {}, schedule() {}, stop() {} }
  const states = { begin() {}, schedule() {}, stop() {} }
  const parts = { socket, protocol: of, inbox, resync, inventory, states, ending: createEnding() }
  const reader = createFrameReader({
    ...parts,
    name: 'office',
    counts,
    stateFeed: () => {},
    log,
    nowUs: () => 0,
    failed() {},
  })
  reader.start()
  return {
    inbox,
    counts,
    read: (text: string | Uint8Array) => read(Buffer.from(text)),
    idle: reader.idle,
    isBehind: reader.isBehind,
    silentMs: reader.silentMs,
    stop: reader.stop,
    isPaused: () => isPaused,
    /** Begins the snapshot that was requested; returns whether one was. */
    beginSnapshot() {
      const was = isWanted
      isWanted = false
      return was
    },
  }
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

describe('the reader of frames, when its inbox is full', () => {
  test('drops all frames of a chunk that has no place, not the first of them alone', async () => {
    const { inbox, read, idle } = readerOf(10)
    read('abcdef')
    for (let chunk = 0; chunk < 100; chunk += 1) read('ghijkl')
    await idle()
    expect(inbox.waiting()).toHaveLength(6)
    expect(inbox.dropped()).toBe(600)
    inbox.drain()
    read('mnopqr')
    await idle()
    expect(inbox.waiting()).toHaveLength(6)
  })

  test('requests a snapshot after each loss that came later than the last one, and counts these', async () => {
    const { counts, read, idle, beginSnapshot } = readerOf(10)
    for (const chunk of ['abcdef', 'ghijkl', 'mnopqr']) read(chunk)
    await idle()
    expect(beginSnapshot()).toBe(true)
    expect(counts.overruns).toBe(1)
    read('stuvwx')
    await idle()
    expect(beginSnapshot()).toBe(true)
    expect(counts.overruns).toBe(2)
  })
})

test('lines that the decoder leaves out are counted, and logged once', async () => {
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
  const { counts, read, idle, inbox } = readerOf(1_000, {
    of: { ...protocol, decoder } as unknown as Protocol<string>,
    log,
  })
  for (const chunk of ['a', 'L', 'LL', 'b']) read(chunk)
  await idle()
  expect(counts.longLines).toBe(3)
  expect(inbox.waiting()).toHaveLength(4)
  expect(logged).toEqual([expect.stringContaining('a line that is too long')])
})

describe('the reader of frames, when a PBX sends very much', () => {
  const MANY = 200_000

  test('processes it in turns with other work, in order, and loses nothing', async () => {
    const { inbox, read, idle } = readerOf(Number.POSITIVE_INFINITY)
    const letters = Array.from({ length: MANY }, (_, at) => String.fromCharCode(97 + (at % 26))).join('')
    for (let from = 0; from < MANY; from += 50_000) read(letters.slice(from, from + 50_000))
    // The callback of the socket has only taken the bytes.
    expect(inbox.waiting()).toHaveLength(0)
    const seen = new Set<number>()
    let isOver = false
    void idle().then(() => {
      isOver = true
    })
    while (!isOver) {
      seen.add(inbox.waiting().length)
      await turn()
    }
    expect(seen.size).toBeGreaterThan(2)
    expect(
      inbox
        .waiting()
        .map((entry) => ('frame' in entry ? entry.frame : ''))
        .join(''),
    ).toBe(letters)
  })

  test('what arrives behind it is processed after it, however little it is', async () => {
    const { inbox, read, idle } = readerOf(Number.POSITIVE_INFINITY)
    read('a'.repeat(MANY))
    read('b')
    await idle()
    expect(inbox.waiting()).toHaveLength(MANY + 1)
    expect(inbox.waiting().at(-1)).toMatchObject({ frame: 'b' })
  })

  test('decodes no faster than its frames are taken, loses nothing, and does not count the PBX as silent', async () => {
    const { inbox, read, isBehind, silentMs, counts } = readerOf(100, { aheadBytes: 100 })
    const taken: string[] = []
    const take = (): number =>
      taken.push(...inbox.drain().map((entry) => ('frame' in entry ? entry.frame : ''))) && taken.length
    for (let chunk = 0; chunk < 10; chunk += 1) read(String(chunk).repeat(50))
    while (inbox.size() < 100) await turn()
    for (let turns = 0; turns < 10; turns += 1) await turn()
    expect(inbox.size()).toBe(100)
    expect(isBehind()).toBe(true)
    expect(silentMs()).toBe(0)
    while (take() < 500) await turn()
    await turn()
    expect(taken.join('')).toBe(Array.from({ length: 10 }, (_, chunk) => String(chunk).repeat(50)).join(''))
    expect(inbox.dropped()).toBe(0)
    expect(counts.overruns).toBe(0)
    expect(isBehind()).toBe(false)
    expect(silentMs()).toBeGreaterThan(0)
  })

  test('decodes to the end when it is stopped, although nobody takes its frames', async () => {
    const { inbox, read, idle, stop } = readerOf(150, { aheadBytes: 100 })
    for (let chunk = 0; chunk < 10; chunk += 1) read(String(chunk).repeat(50))
    while (inbox.size() < 100) await turn()
    await turn()
    stop()
    await idle()
    expect([inbox.size(), inbox.dropped()]).toEqual([150, 350])
  })

  test('decodes on while the inbox is paused, since what ends the pause arrives behind it', async () => {
    const { inbox, read, idle } = readerOf(10_000, { aheadBytes: 100 })
    for (let chunk = 0; chunk < 4; chunk += 1) read(String(chunk).repeat(50))
    while (inbox.size() < 100) await turn()
    for (let turns = 0; turns < 10; turns += 1) await turn()
    expect(inbox.size()).toBe(100)
    inbox.pause()
    await idle()
    expect(inbox.size()).toBe(200)
  })

  test('goes on reading up to 32 MB, beyond that lets the PBX wait, and then reads again', async () => {
    const silent = { ...protocol, decoder: { push: () => [], fault: undefined, longLines: 0 } }
    const { read, idle, isPaused } = readerOf(0, { of: silent })
    const megabyte = new Uint8Array(1024 * 1024)
    for (let count = 0; count < 32; count += 1) read(megabyte)
    expect(isPaused()).toBe(false)
    read(megabyte)
    expect(isPaused()).toBe(true)
    await idle()
    expect(isPaused()).toBe(false)
  })
})

test('what was read of frames is dropped once many wait, since it takes more memory than their bytes', async () => {
  const forgotten: string[] = []
  const of = { ...protocol, forget: (frame: string) => void forgotten.push(frame) }
  const { read, idle } = readerOf(1_000_000, { of })
  read(Buffer.from('a'.repeat(256)))
  await idle()
  expect(forgotten).toEqual([])
  read(Buffer.from('bc'))
  await idle()
  expect(forgotten).toEqual(['b', 'c'])
})

test('a reader that was stopped reads nothing more, also once it has processed what it waited for', async () => {
  const much = new Uint8Array(40 * 1024 * 1024).fill(10)
  const silent: Protocol<string> = { ...protocol, decoder: { ...protocol.decoder, push: () => [] } }
  const slow = readerOf(100, { of: silent })
  slow.read(much)
  expect(slow.isPaused()).toBe(true)
  slow.stop()
  await slow.idle()
  expect(slow.isPaused()).toBe(true)
  // Without a stop it goes on.
  const other = readerOf(100, { of: silent })
  other.read(much)
  await other.idle()
  expect(other.isPaused()).toBe(false)
})
