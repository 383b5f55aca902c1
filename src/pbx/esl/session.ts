import type { PbxSource } from '../../lib/pbx-url.ts'
import { type Connection, openConnection } from '../connection/session.ts'
import type { Session, SessionOptions } from '../connection/timeouts.ts'
import { createEslDialogue } from './commands.ts'
import { EslDecoder, type EslFrame } from './decoder.ts'
import { isSheddable, SUBSCRIPTION } from './events.ts'
import { askEslInventory } from './inventory.ts'
import { logInToEsl } from './login.ts'
import { createLists } from './snapshot-request.ts'

/**
 * One connection to a FreeSWITCH, from connecting to its end (see connection/session.ts).
 *
 * connecting → logging in → subscribing → (which run of FreeSWITCH is this?) → listing → up → over
 *
 * - FreeSWITCH drops who falls 500 events behind: one more reason to do nothing but queue in the socket's callback.
 * - It lives as long as something comes: FreeSWITCH sends a heartbeat every 20 seconds.
 */
export function startEslSession(source: PbxSource, options: SessionOptions<EslFrame>): Session {
  const { counts, nowUs, patience } = options
  const { host, port } = source

  const connection: Connection<EslFrame> = openConnection(source.name, options, {
    address: { host, port },
    decoder: new EslDecoder(),
    // FreeSWITCH speaks first.
    opened() {},
    take,
    mayShed: ({ event }) => isSheddable(event?.name ?? ''),
    list: () => lists.next(),
    learn: () => askEslInventory(dialogue),
    leave(kind) {
      clearInterval(watch)
      dialogue.close()
      if (kind === 'stopped') connection.write('exit\n\n')
    },
  })
  const late = (what: string): void => connection.end('lost', what)
  const dialogue = createEslDialogue(connection.write, patience.replyMs, late)
  const lists = createLists(dialogue, connection.inbox, nowUs)
  const watch = setInterval(() => {
    const allowedMs = connection.isUp() ? patience.heartbeatMs : patience.connectMs + patience.replyMs
    if (connection.silentMs() > allowedMs) connection.end('lost', `${host} is silent: no heartbeat came`)
  }, patience.heartbeatMs / 10)

  function take(frame: EslFrame, arrivedUs: number): void {
    if (dialogue.take(frame)) return
    const { event } = frame
    if (event !== undefined) {
      counts.events += 1
      if (event.name === 'SHUTDOWN') connection.shutsDown()
      if (event.name === 'RELOADXML') connection.reloaded()
      if (event.name !== 'HEARTBEAT') connection.inbox.push({ frame, arrivedUs })
    } else if (frame.contentType === 'auth/request') void converse()
    else if (frame.contentType === 'text/rude-rejection')
      connection.end('refused', 'its access list refuses our address')
    else if (frame.contentType === 'text/disconnect-notice') {
      if (/shut ?down/i.test(frame.body)) connection.shutsDown()
      // Behind what was refused just before it: a wrong password, which says more.
      setImmediate(() => connection.end('lost', `it said goodbye: ${frame.body.split('\n')[0] ?? ''}`))
    }
  }

  async function converse(): Promise<void> {
    const login = await logInToEsl(source, dialogue, SUBSCRIPTION)
    if (login.kind !== 'in') return connection.end(login.kind, login.reason)
    connection.loggedIn()
    const core = await dialogue.ask('api global_getvar core_uuid')
    if (connection.isOver()) return
    const id = /^[0-9a-f-]{36}$/i.exec(core?.body.trim() ?? '')?.[0]
    await connection.begin(id === undefined ? null : { id, startedUs: null }, 'its user may not use "api show"')
  }

  return {
    ended: connection.ended,
    doubt: () => void connection.doubt(),
    stop: () => connection.end('stopped', 'stopped'),
  }
}
