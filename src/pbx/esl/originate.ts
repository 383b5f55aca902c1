import type { CallAnswer, CallMaker, CallOrder, CallTimeouts } from '../connection/call-order.ts'
import { addressOf, openSocket } from '../connection/socket.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { type Commands, createCommands } from './commands.ts'
import { EslDecoder } from './decoder.ts'
import { authenticate } from './login.ts'
import { originateCommand } from './originate-command.ts'

const CONTEXT = /^[\w.@-]{1,79}$/

/** Makes calls on a FreeSWITCH. */
export const freeswitchCalls = (source: PbxSource, timeouts: CallTimeouts): CallMaker => ({
  call: (order, seen) =>
    converse(source, timeouts, async (commands, isLost) => {
      const context = await contextOf(source, order, commands)
      const { accepted, ended } = commands.startJob(originateCommand(source, order, context))
      const answer = await accepted
      if (answer === undefined) return { kind: 'unanswered', reason: isLost() ?? 'no answer came' }
      if (!answer.startsWith('+OK')) return { kind: 'refused', reason: reasonOf(answer) }
      const late = Bun.sleep(timeouts.failureMs)
      const output = await Promise.race([ended, seen, late])
      return output?.startsWith('-ERR') === true ? { kind: 'refused', reason: reasonOf(output) } : { kind: 'made' }
    }),
  hangUp: (channelIds) =>
    converse(source, timeouts, async (commands, isLost) => {
      const replies = await Promise.all(channelIds.map((id) => commands.send(`api uuid_kill ${id}`)))
      const answered = replies.filter((reply) => reply !== undefined)
      if (answered.length === 0) return { kind: 'unanswered', reason: isLost() ?? 'no answer came' }
      const isAny = answered.some(({ body }) => body.startsWith('+OK'))
      return isAny ? { kind: 'made' } : { kind: 'refused', reason: reasonOf(answered[0]?.body ?? '') }
    }),
})

const reasonOf = (text: string): string => text.replace(/^-ERR\s*/, '').trim() || 'it gives no reason'

/** Returns the context in which a phone dials: the one of the URL, else the phone's own. */
async function contextOf({ calls }: PbxSource, { phone }: CallOrder, commands: Commands): Promise<string> {
  if (calls?.context != null) return calls.context
  const reply = await commands.send(`api user_data ${phone.endpoint} var user_context`)
  const context = reply?.body.trim() ?? ''
  return CONTEXT.test(context) ? context : 'default'
}

/** Connects, logs in, and runs a command. A failure before the command is sent is `refused`: there is no call. */
async function converse(
  source: PbxSource,
  { answerMs }: CallTimeouts,
  command: (commands: Commands, isLost: () => string | undefined) => Promise<CallAnswer>,
): Promise<CallAnswer> {
  const socket = openSocket(addressOf(source), answerMs)
  let lost: string | undefined
  const commands = createCommands({
    write: socket.write,
    replyMs: answerMs,
    lost(reason) {
      lost = reason
      socket.close()
    },
  })
  const decoder = new EslDecoder()
  // Whatever hangs: connecting, logging in, or the command.
  const timer = setTimeout(socket.close, answerMs)
  void socket.closed.then(commands.close)
  try {
    if (!(await socket.opened)) return { kind: 'refused', reason: await socket.closed }
    socket.read((chunk) => {
      for (const frame of decoder.push(chunk)) commands.receive(frame)
      if (decoder.fault !== undefined) socket.close()
    })
    const login = await authenticate(source, commands, answerMs)
    if (login.kind !== 'in') return { kind: 'refused', reason: lost ?? login.reason }
    const jobs = await commands.send('event json BACKGROUND_JOB')
    if (jobs === undefined) return { kind: 'refused', reason: lost ?? 'the connection is closed' }
    return await command(commands, () => lost)
  } finally {
    clearTimeout(timer)
    socket.close()
  }
}
