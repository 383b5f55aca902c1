import { createInbox, type Inbox } from './inbox.ts'
import { type Item, translate } from './inbox-entry.ts'
import { createLearning, type Learned } from './inventory-refresh.ts'
import { createResync } from './resync.ts'
import { type LinkAddress, openLink } from './socket.ts'
import type { Run, SessionEnd, SessionOptions } from './timeouts.ts'

/** What a protocol adds to a connection. */
export type Protocol<Frame> = {
  readonly address: LinkAddress
  readonly decoder: { push(chunk: Uint8Array): Iterable<Frame>; readonly fault: string | undefined }
  readonly opened: () => void
  /** Takes a frame as it arrives: it must not wait. */
  readonly take: (frame: Frame, arrivedUs: number) => void
  /** Frequent, and what a call is told without: the first to go when too much comes. */
  readonly mayShed: (frame: Frame) => boolean
  /** Asks what is up and puts it into the inbox; `false` if no whole list came. */
  readonly list: () => Promise<boolean>
  /** Asks what is configured; `undefined`: it did not answer. */
  readonly learn: () => Promise<Learned>
  /** It is over: what the protocol started ends. The link still takes a last word. */
  readonly leave: (kind: SessionEnd['kind']) => void
}

/** A connection to one PBX, whatever it speaks. Its flags only ever turn true. */
export type Connection<Frame> = {
  readonly ended: Promise<SessionEnd>
  readonly inbox: Inbox<Item<Frame>>
  write(text: string): void
  /** Since when nothing has come. */
  silentMs(): number
  /** The login succeeded: from here on its end is told. */
  loggedIn(): void
  /** Tells that it is up, asks what is, and lets go of what has waited; `hint`: what a user lacks that may not ask. */
  begin(run: Run | null, hint: string): Promise<void>
  isUp(): boolean
  /** The PBX says that its configuration has changed. */
  reloaded(): void
  /** There is a reason to doubt what is known. `false` if lists were to follow anyway. */
  doubt(): boolean
  /** The PBX says that it shuts down: that is what an end is then. */
  shutsDown(): void
  /** Only the first end counts. */
  end(kind: SessionEnd['kind'], reason: string): void
  isOver(): boolean
}

/** How often events that wait for what they need are looked at, where no other event comes. */
const RELEASE_MS = 250

/**
 * connecting → logged in → up → over
 *
 * - The socket is always read: its callback decodes and queues, and nothing else.
 * - The inbox is held from the beginning to the end of the first list: events wait, and are handled after it.
 * - What is up is asked for after the login, whenever there is doubt and after an overrun.
 * - Who was logged in is told `connected` once, then `disconnected` once, and nothing after that.
 */
export function openConnection<Frame>(
  name: string,
  options: SessionOptions<Frame>,
  protocol: Protocol<Frame>,
): Connection<Frame> {
  const { translator, endpoints, feed, counts, intake, nowUs, patience, log } = options
  const { decoder } = protocol
  const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
  let loggedIn = false
  let up = false
  let over = false
  let shutdown = false
  let heardMs = performance.now()
  /** Of what was read and is not in the inbox yet. */
  let readBytes = 0

  const resync = createResync({ list: protocol.list, isAnyMissing: options.isAnyMissing, ...patience })
  const learning = createLearning({ pbx: name, ask: protocol.learn, endpoints, log, patience })
  const waiting = createInbox<Item<Frame>>({
    changed: (by) => {
      intake.waiting += by
    },
    matters: (item) => !('frame' in item && protocol.mayShed(item.frame)),
    handle(items) {
      const signals = translate(items, translator, (error, item) =>
        failed(error, 'frame' in item ? 'an event' : 'a list'),
      )
      if (signals.length > 0) feed(signals)
    },
    overrun(shed) {
      counts.overruns += 1
      log.warn({ pbx: name, shed }, 'the PBX tells events faster than they are handled: what is up is asked for')
      resync.ask()
    },
  })
  /** What it cannot make sense of is left out, and what is up is asked for in its place. */
  function failed(error: unknown, what: 'an event' | 'a list'): void {
    counts.faults += 1
    const facts = { pbx: name, what, err: error }
    // Logged once for each resync: a caller must not be able to fill the log.
    if (resync.ask()) log.error(facts, 'what the PBX sent made us fail: it is left out, and what is up is asked for')
  }
  const inbox: Inbox<Item<Frame>> = {
    ...waiting,
    push(item) {
      // Of the frames of one chunk the first takes it all: the sum is what counts.
      waiting.push(item, readBytes)
      readBytes = 0
    },
  }
  inbox.hold(true)
  /** What the translator holds back must not wait for the next event. */
  const release = (untilUs: number): void => {
    try {
      const signals = translator.release?.(untilUs) ?? []
      if (signals.length > 0) feed(signals)
    } catch (error) {
      failed(error, 'an event')
    }
  }
  const releasing = setInterval(() => release(nowUs()), RELEASE_MS)

  const connect = (run: Run | null): void => {
    if (up) return
    up = true
    const atUs = nowUs()
    feed([{ kind: 'connected', first: options.first, boot: run?.id ?? null, atUs, arrivedUs: atUs }])
    options.up(run)
  }
  const disconnect = (): void => {
    connect(null)
    inbox.flush()
    release(Number.POSITIVE_INFINITY)
    const atUs = nowUs()
    feed([{ kind: 'disconnected', atUs, arrivedUs: atUs }])
  }
  const end = (kind: SessionEnd['kind'], reason: string): void => {
    if (over) return
    over = true
    clearInterval(releasing)
    resync.stop()
    learning.stop()
    protocol.leave(kind)
    link.close()
    if (loggedIn) disconnect()
    resolve({ kind: kind === 'lost' && shutdown ? 'shutdown' : kind, reason })
  }

  const link = openLink(
    protocol.address,
    {
      open: protocol.opened,
      data(chunk) {
        heardMs = performance.now()
        const arrivedUs = nowUs()
        readBytes += chunk.length
        for (const frame of decoder.push(chunk)) if (!over) protocol.take(frame, arrivedUs)
        if (decoder.fault !== undefined) end('lost', decoder.fault)
      },
      close: (reason) => end('lost', reason),
    },
    patience.connectMs,
  )

  return {
    ended,
    inbox,
    write: link.write,
    silentMs: () => performance.now() - heardMs,
    loggedIn() {
      loggedIn = true
    },
    async begin(run, hint) {
      connect(run)
      const whole = await resync.first()
      if (over) return
      if (!whole) log.warn({ pbx: name }, `the PBX does not say what is up: ${hint}`)
      // A PBX that is known is asked a little later: a connection that keeps breaking must not cost it a whole list each time.
      if (endpoints.isConfigured()) learning.soon()
      else await Promise.race([learning.now(), Bun.sleep(patience.learnMs)])
      if (!over) inbox.hold(false)
    },
    isUp: () => up,
    reloaded: learning.soon,
    doubt: resync.ask,
    shutsDown() {
      shutdown = true
    },
    end,
    isOver: () => over,
  }
}
