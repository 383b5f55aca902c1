import type { PbxSource } from '../../lib/pbx-url.ts'
import type { CallAnswer, CallMaker, CallTimeouts } from '../connection/call-order.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import { type Actions, type AmiReply, createActions } from './actions.ts'
import { AmiDecoder } from './decoder.ts'
import { logIn } from './login.ts'
import { originateAction } from './originate-action.ts'

/** Makes calls on an Asterisk, as the second user of its manager interface. */
export const asteriskCalls = (source: PbxSource, timeouts: CallTimeouts): CallMaker => ({
  call: (order) =>
    converse(source, timeouts, async (actions) => answerOf(await actions.send(originateAction(source, order)))),
  hangUp: (channelIds) =>
    converse(source, timeouts, async (actions) => {
      const sent = channelIds.map((id) => actions.send({ Action: 'Hangup', Channel: id }))
      const answers = (await Promise.all(sent)).map(answerOf)
      return answers.find(({ kind }) => kind === 'made') ?? answers[0] ?? NOTHING
    }),
})

const NOTHING: CallAnswer = { kind: 'refused', reason: 'it has no channel' }

function answerOf(reply: AmiReply): CallAnswer {
  if (reply.kind === 'reply' || reply.kind === 'rows') return { kind: 'made' }
  if (reply.kind === 'unanswered') return { kind: 'unanswered', reason: 'no answer came' }
  if (reply.kind === 'denied')
    return { kind: 'refused', reason: 'the user of calls= may not do this: give it write = originate,call' }
  return { kind: 'refused', reason: reply.message }
}

/** Connects, logs in, and runs a command. What fails before the command is sent is `refused`: there is no call. */
async function converse(
  source: PbxSource,
  { answerMs }: CallTimeouts,
  command: (actions: Actions) => Promise<CallAnswer>,
): Promise<CallAnswer> {
  const { user = '', secret = '' } = source.calls ?? {}
  const socket = openSocket(addressOf(source), answerMs)
  const actions = createActions(socket.write, { replyMs: answerMs, listMs: answerMs })
  const decoder = new AmiDecoder({ skip: () => true })
  // Whatever hangs: connecting, logging in, or the command.
  const timer = setTimeout(socket.close, answerMs)
  void socket.closed.then(actions.close)
  try {
    const isOpen = await socket.opened
    if (!isOpen) return { kind: 'refused', reason: await socket.closed }
    socket.read((chunk) => {
      for (const frame of decoder.push(chunk)) actions.receive(frame)
      if (decoder.fault !== undefined) socket.close()
    })
    const login = await logIn({ ...source, user, secret }, actions, () => decoder.greeting, [])
    if (login.kind !== 'in') return { kind: 'refused', reason: login.reason }
    return await command(actions)
  } finally {
    clearTimeout(timer)
    socket.close()
  }
}
