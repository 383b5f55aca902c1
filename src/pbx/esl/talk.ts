import { TIMEOUTS } from '../connection/timeouts.ts'
import type { OpenTalk } from '../recorded/talk.ts'
import { createCommands } from './commands.ts'
import { EslDecoder } from './decoder.ts'
import { logIn } from './login.ts'

/** Talks to a FreeSWITCH for a recording. */
export const talkEsl: OpenTalk = (source, { write, lost }) => {
  const decoder = new EslDecoder()
  const commands = createCommands({ write, replyMs: TIMEOUTS.replyMs, lost })
  return {
    decoder,
    receive(chunk) {
      for (const frame of decoder.push(chunk)) commands.receive(frame)
    },
    async begin() {
      const login = await logIn(source, commands, TIMEOUTS.connectMs)
      if (login.kind !== 'in') return login.reason
      await commands.send('api show channels as json')
      await commands.send('api show calls as json')
      return undefined
    },
    idleMs: TIMEOUTS.heartbeatMs,
    probe: async () => false,
    close: commands.close,
  }
}
