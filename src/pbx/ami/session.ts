import type { PbxSource } from '../../lib/pbx-url.ts'
import { SECOND } from '../../lib/time.ts'
import { type Connection, openConnection } from '../connection/session.ts'
import type { Session, SessionOptions } from '../connection/timeouts.ts'
import { createDialogue } from './actions.ts'
import { AmiDecoder, type AmiFrame } from './decoder.ts'
import { isSheddable, isWanted } from './events.ts'
import { askInventory } from './inventory.ts'
import { logIn } from './login.ts'
import { startPings } from './pings.ts'
import { askStart, runOf } from './restart-detection.ts'
import { createLists } from './snapshot-request.ts'

/**
 * One connection to an Asterisk, from connecting to its end (see connection/session.ts).
 *
 * connecting → logging in → (which run of Asterisk is this?) → listing → up → over
 *
 * - What is up is asked for after a taint too. A list is handled at the place in the stream where it began, so that a channel
 *   that ends while it is listed stays ended.
 */
export function startAmiSession(source: PbxSource, options: SessionOptions<AmiFrame>): Session {
  const { counts, nowUs, patience, log } = options
  const { host, port } = source
  let startedUs: number | null = null
  let heard = false

  const connection: Connection<AmiFrame> = openConnection(source.name, options, {
    address: { host, port, tls: source.protocol === 'amis' ? { caFile: source.caFile } : undefined },
    decoder: new AmiDecoder({ skip: (name, peek) => !isWanted(name, peek, source.variables) }),
    opened: () => void converse(),
    take,
    mayShed: (frame) => isSheddable(frame.name),
    list: () => lists.next(),
    learn: () => askInventory(source, dialogue),
    leave() {
      stopPings()
      dialogue.close()
    },
  })
  const dialogue = createDialogue(connection.write, patience)
  const lists = createLists(dialogue, connection.inbox, nowUs)
  const stopPings = startPings(dialogue, patience.idleMs, {
    silentMs: () => (connection.isUp() ? connection.silentMs() : 0),
    dead: () => connection.end('lost', `${host} is silent: two pings were not answered`),
  })

  function take(frame: AmiFrame, arrivedUs: number): void {
    if (dialogue.take(frame)) return
    if (frame.tainted) {
      counts.taints += 1
      // Said once for each resync: a caller must not be able to fill the log.
      if (connection.isUp() && connection.doubt())
        log.warn(
          { pbx: source.name, event: frame.name },
          'an event that a caller may have written into is not believed',
        )
    } else if (frame.type === 'event' && frame.has('Privilege')) {
      counts.events += 1
      if (frame.name === 'Shutdown') connection.shutsDown()
      if (frame.name === 'Reload') connection.reloaded()
      // The first that comes after the login; a later one says nothing new, or was written by a caller.
      if (frame.name === 'FullyBooted' && !heard) startedUs = startOf(frame, arrivedUs)
      heard = true
      connection.inbox.push({ frame, arrivedUs })
    }
  }

  async function converse(): Promise<void> {
    const login = await logIn(source, dialogue)
    if (login.kind !== 'in') return connection.end(login.kind, login.reason)
    if (connection.isOver()) return
    connection.loggedIn()
    const start = await askStart(dialogue, patience.bootMs)
    const run = runOf(options.lastRun, { start, startedUs })
    if (!connection.isOver()) await connection.begin(run, 'its user needs write = reporting')
  }

  return {
    ended: connection.ended,
    doubt: () => void connection.doubt(),
    stop: () => connection.end('stopped', 'stopped'),
  }
}

function startOf(frame: AmiFrame, arrivedUs: number): number | null {
  const uptime = frame.get('Uptime')
  return /^\d{1,9}$/.test(uptime) ? arrivedUs - Number(uptime) * SECOND : null
}
