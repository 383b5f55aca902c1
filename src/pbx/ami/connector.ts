import type { PbxSource } from '../../lib/pbx-url.ts'
import { SECOND } from '../../lib/time.ts'
import { createInbox } from '../inbox.ts'
import { type Item, translate } from '../item.ts'
import { openLink } from '../link.ts'
import { createResync } from '../resync.ts'
import type { Session, SessionEnd, SessionOptions } from '../session.ts'
import { bootOf } from './boot.ts'
import { AmiDecoder, type AmiFrame } from './decoder.ts'
import { createDialogue } from './dialogue.ts'
import { createLists } from './lists.ts'
import { logIn } from './login.ts'
import { startPings } from './pings.ts'
import { isNoise } from './signals.ts'

/** The noisiest by far, and what a call is told without. */
const SHED_FIRST = new Set(['VarSet', 'Newexten'])

/**
 * One connection to an Asterisk, from connecting to its end.
 *
 * connecting → logging in → (which run of Asterisk is this?) → listing → up → over
 *
 * - The socket is always read: its callback decodes and queues, and nothing else.
 * - Events wait from the login to the end of the first list, and are handled after it.
 * - What is up is asked for after the login, after a taint and after an overrun. A list is handled at the place in the
 *   stream where it began, so that a channel that ends while it is listed stays ended.
 */
export function startAmiSession(source: PbxSource, options: SessionOptions<AmiFrame>): Session {
  const { translator, feed, counts, nowUs, patience, log } = options
  const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
  const decoder = new AmiDecoder({ skip: (name, peek) => isNoise(name, peek, source) })
  let loggedIn = false
  let connected = false
  let over = false
  let shutdown = false
  let bootedUs = Number.NaN
  let heardMs = performance.now()

  const inbox = createInbox<Item<AmiFrame>>({
    matters: (item) => !('frame' in item) || !SHED_FIRST.has(item.frame.name),
    handle(items) {
      const signals = translate(items, translator)
      if (signals.length > 0) feed(signals)
    },
    overrun(shed) {
      counts.overruns += 1
      log.warn({ pbx: source.name, shed }, 'the PBX tells events faster than they are handled: what is up is asked for')
      resync.ask()
    },
  })
  inbox.hold(true)

  const end = (kind: SessionEnd['kind'], reason: string): void => {
    if (over) return
    over = true
    stopPings()
    resync.stop()
    dialogue.close()
    link.close()
    if (loggedIn) {
      connect(null)
      inbox.flush()
      const atUs = nowUs()
      feed([{ kind: 'disconnected', atUs, arrivedUs: atUs }])
    }
    resolve({ kind: kind === 'lost' && shutdown ? 'shutdown' : kind, reason })
  }

  const connect = (boot: string | null): void => {
    if (connected) return
    connected = true
    const atUs = nowUs()
    feed([{ kind: 'connected', first: options.first, boot, atUs, arrivedUs: atUs }])
    options.up(boot)
  }

  const take = (frame: AmiFrame, arrivedUs: number): void => {
    if (dialogue.take(frame)) return
    if (frame.tainted) {
      counts.taints += 1
      // Said once for each resync: a caller must not be able to fill the log.
      if (connected && resync.ask())
        log.warn(
          { pbx: source.name, event: frame.name },
          'an event that a caller may have written into is not believed',
        )
    } else if (frame.type === 'event' && frame.has('Privilege')) {
      counts.events += 1
      shutdown ||= frame.name === 'Shutdown'
      if (frame.name === 'FullyBooted') bootedUs = arrivedUs - Number(frame.get('Uptime') || Number.NaN) * SECOND
      inbox.push({ frame, arrivedUs })
    }
  }

  const link = openLink(
    { host: source.host, port: source.port, tls: source.protocol === 'amis' ? { caFile: source.caFile } : undefined },
    {
      open: () => void converse(),
      data(chunk) {
        heardMs = performance.now()
        const arrivedUs = nowUs()
        for (const frame of decoder.push(chunk)) if (!over) take(frame, arrivedUs)
        if (decoder.fault !== undefined) end('lost', decoder.fault)
      },
      close: (reason) => end('lost', reason),
    },
    patience.connectMs,
  )
  const dialogue = createDialogue((text) => link.write(text), patience)
  const lists = createLists(dialogue, inbox, nowUs)
  const resync = createResync({ list: lists.next, ...patience })
  const stopPings = startPings(dialogue, patience.idleMs, {
    silentMs: () => (connected ? performance.now() - heardMs : 0),
    dead: () => end('lost', `${source.host} is silent: two pings were not answered`),
  })

  async function converse(): Promise<void> {
    const login = await logIn(source, dialogue)
    if (login.kind !== 'in') return end(login.kind, login.reason)
    if (over) return
    loggedIn = true
    const boot = await bootOf(dialogue, options, () => bootedUs)
    if (over) return
    connect(boot)
    if (!(await resync.first()) && !over)
      log.warn({ pbx: source.name }, 'the PBX does not say what is up: its user needs write = reporting')
    if (!over) inbox.hold(false)
  }

  return { ended, stop: () => end('stopped', 'stopped') }
}
