import { TIMEOUTS } from '../connection/timeouts.ts'
import type { OpenTalk } from '../recorded/talk.ts'
import { createActions, ping } from './actions.ts'
import { AmiDecoder } from './decoder.ts'
import { logIn } from './login.ts'

/** Talks to an Asterisk for a recording. */
export const talkAmi: OpenTalk = (source, { write }) => {
  const actions = createActions(write, TIMEOUTS)
  const decoder = new AmiDecoder({ idPrefix: actions.idPrefix })
  return {
    decoder,
    receive(chunk) {
      for (const frame of decoder.push(chunk)) actions.receive(frame)
    },
    async begin() {
      const login = await logIn(source, actions, () => decoder.greeting)
      if (login.kind !== 'in') return login.reason
      // The channels are needed to understand calls that began before the recording.
      await actions.list({ Action: 'Status' })
      // So are the phones; other lists of the configuration are private.
      await actions.list({ Action: 'ExtensionStateList' })
      return undefined
    },
    idleMs: TIMEOUTS.idleMs,
    probe: () => ping(actions),
    close: actions.close,
  }
}
