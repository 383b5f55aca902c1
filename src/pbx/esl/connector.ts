import type { PbxSource } from '../../lib/pbx-url.ts'
import { createInbox, type Inbox } from '../inbox.ts'
import { bornIn, type Item, type Listing, translate } from '../item.ts'
import { openLink } from '../link.ts'
import { createResync } from '../resync.ts'
import type { Session, SessionEnd, SessionOptions } from '../session.ts'
import { EslDecoder, type EslFrame } from './decoder.ts'
import { createEslDialogue, type EslDialogue } from './dialogue.ts'
import { logInToEsl } from './login.ts'

/** What calls are told by. CUSTOM comes last: what follows it are subclasses. */
export const SUBSCRIPTION = [
  'CHANNEL_CREATE CHANNEL_ORIGINATE CHANNEL_PROGRESS CHANNEL_PROGRESS_MEDIA CHANNEL_ANSWER CHANNEL_BRIDGE CHANNEL_UNBRIDGE',
  'CHANNEL_HANGUP CHANNEL_HANGUP_COMPLETE CHANNEL_DESTROY CHANNEL_HOLD CHANNEL_UNHOLD CALL_UPDATE RECORD_START RECORD_STOP',
  'HEARTBEAT SHUTDOWN',
  'CUSTOM callcenter::info sofia::transferor sofia::transferee sofia::replaced fifo::info conference::maintenance valet_parking::info',
].join(' ')

/** Frequent, and told by others too. */
const SHED_FIRST = new Set(['CALL_UPDATE', 'CHANNEL_HOLD', 'CHANNEL_UNHOLD'])

/**
 * One connection to a FreeSWITCH, from connecting to its end.
 *
 * connecting → logging in → subscribing → (which run of FreeSWITCH is this?) → listing → up → over
 *
 * - The socket is always read: its callback decodes and queues, and nothing else. FreeSWITCH drops who falls 500 events behind.
 * - Events wait from the subscription to the end of the first list, and are handled after it.
 * - It lives as long as something comes: FreeSWITCH sends a heartbeat every 20 seconds.
 */
export function startEslSession(source: PbxSource, options: SessionOptions<EslFrame>): Session {
  const { translator, feed, counts, nowUs, patience, log } = options
  const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
  const decoder = new EslDecoder()
  let loggedIn = false
  let connected = false
  let over = false
  let shutdown = false
  let heardMs = performance.now()

  const inbox = createInbox<Item<EslFrame>>({
    matters: (item) => !('frame' in item) || !SHED_FIRST.has(item.frame.event?.name ?? ''),
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
    clearInterval(watch)
    resync.stop()
    dialogue.close()
    if (kind === 'stopped') link.write('exit\n\n')
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

  const take = (frame: EslFrame, arrivedUs: number): void => {
    if (dialogue.take(frame)) return
    const { event } = frame
    if (event !== undefined) {
      counts.events += 1
      shutdown ||= event.name === 'SHUTDOWN'
      if (event.name !== 'HEARTBEAT') inbox.push({ frame, arrivedUs })
    } else if (frame.contentType === 'auth/request') void converse()
    else if (frame.contentType === 'text/rude-rejection') end('refused', 'its access list refuses our address')
    else if (frame.contentType === 'text/disconnect-notice') {
      shutdown ||= /shut ?down/i.test(frame.body)
      end('lost', `it said goodbye: ${frame.body.split('\n')[0] ?? ''}`)
    }
  }

  const link = openLink(
    { host: source.host, port: source.port },
    {
      open: () => {},
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
  const late = (what: string): void => end('lost', what)
  const dialogue = createEslDialogue((text) => link.write(text), patience.replyMs, late)
  const resync = createResync({ ...patience, list: createLists(dialogue, inbox, nowUs) })
  const watch = setInterval(() => {
    const allowedMs = connected ? patience.heartbeatMs : patience.connectMs + patience.replyMs
    if (performance.now() - heardMs > allowedMs) end('lost', `${source.host} is silent: no heartbeat came`)
  }, patience.heartbeatMs / 10)

  async function converse(): Promise<void> {
    const login = await logInToEsl(source, dialogue, SUBSCRIPTION)
    if (login.kind !== 'in') return end(login.kind, login.reason)
    loggedIn = true
    const core = await dialogue.ask('api global_getvar core_uuid')
    if (over) return
    connect(/^[0-9a-f-]{36}$/i.exec(core?.body.trim() ?? '')?.[0] ?? null)
    if (!(await resync.first()) && !over)
      log.warn({ pbx: source.name }, 'the PBX does not say what is up: its user may not use "api show"')
    if (!over) inbox.hold(false)
  }

  return { ended, stop: () => end('stopped', 'stopped') }
}

/**
 * What is up, as two replies: the channels, and which of them are bridged. The first list goes before all that waits, a later one to
 * where its first reply came.
 */
function createLists(dialogue: EslDialogue, inbox: Inbox<Item<EslFrame>>, nowUs: () => number): () => Promise<boolean> {
  let first = true
  return async () => {
    const isFirst = first
    first = false
    const listing: Listing<EslFrame> = { rows: undefined, arrivedUs: nowUs() }
    const began = (): void => {
      // What comes while the second reply is awaited is later than the list.
      inbox.hold(true)
      if (isFirst) inbox.unshift(listing)
      else inbox.push(listing)
    }
    const replies = await Promise.all([
      dialogue.ask('api show channels as json', began),
      dialogue.ask('api show calls as json'),
    ])
    const rows = replies.filter((reply) => reply?.body.trimStart().startsWith('{'))
    const whole = rows.length === replies.length
    if (whole) {
      listing.rows = rows.filter((row) => row !== undefined)
      listing.born = bornIn(inbox.waiting(), ({ event }) =>
        event?.name === 'CHANNEL_CREATE' ? event.get('Unique-ID') : undefined,
      )
    }
    inbox.hold(false)
    return whole
  }
}
