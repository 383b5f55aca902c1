import type { CallAnswer, CallMaker, CallTimeouts } from '../connection/call-order.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { type Actions, type AmiReply, createActions } from './actions.ts'
import { AmiDecoder } from './decoder.ts'
import type { AmiFrame } from './frame.ts'
import { logIn } from './login.ts'
import { originateAction } from './originate-action.ts'

/** The actions that a user may send; or why that is unknown. */
type CallRights = { readonly kind: 'rights'; readonly actions: Pick<AmiFrame, 'has'> }

/** Returns the rights of the second user of the manager interface. */
export const requestCallRights = (source: PbxSource, timeouts: CallTimeouts): Promise<CallRights | CallAnswer> =>
  converse<CallRights>(source, timeouts, async (actions) => {
    const reply = await actions.send({ Action: 'ListCommands' })
    return reply.kind === 'reply' ? { kind: 'rights', actions: reply.frame } : answerOf(reply)
  })

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
async function converse<Result = never>(
  source: PbxSource,
  { answerMs }: CallTimeouts,
  command: (actions: Actions) => Promise<CallAnswer | Result>,
): Promise<CallAnswer | Result> {
  const { user = '', secret = '' } = source.calls ?? {}
  const socket = openSocket(addressOf(source), answerMs)
  const actions = createActions(socket.write, { replyMs: answerMs, listMs: answerMs })
  const decoder = new AmiDecoder({ skip: () => true, idPrefix: actions.idPrefix })
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
