import { createAsterisk } from '../../src/pbx/ami/replay/asterisk.ts'
import { recordingOf } from '../../src/pbx/recorded/recording.ts'
import { acts } from '../help/asterisk-load.ts'
import { type PbxClient, startPbx } from '../help/pbx-server.ts'

/** Starts an Asterisk that lists this many calls which ring, and lets a test close its connections. */
export function startBusyAsterisk(calls: number) {
  const persona = createAsterisk()
  const bytes = Array.from({ length: calls }, (_, call) =>
    acts(call)
      .slice(0, 3)
      .map((act) => act.bytes)
      .join(''),
  ).join('')
  for (const step of persona.load(recordingOf('asterisk', Buffer.from(bytes), '')).steps) persona.advance(step)
  const clients = new Set<PbxClient>()
  const { port, stop } = startPbx((client) => {
    clients.add(client)
    const { data } = persona.connect({
      write: client.write,
      close: client.close,
      begin: () => undefined,
      nowMs: () => 0,
    })
    return { data, closed: () => void clients.delete(client) }
  })
  return {
    url: `ami://any:any@127.0.0.1:${port}?name=busy&trunks=trunk`,
    /** Closes all connections, as a restart of a network does. */
    cut() {
      for (const client of [...clients]) client.close()
    },
    stop,
  }
}
