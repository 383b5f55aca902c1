import { startReplyDeadline } from '../connection/reply-deadline.ts'
import type { EslFrame } from './decoder.ts'

/** Commands that await their replies. Replies have no id: they arrive in the order of the commands. */
export type Commands = {
  /** Resolves with `true` when FreeSWITCH asks for a login, with `false` if it has not within this time. */
  greeting(withinMs: number): Promise<boolean>
  /**
   * Sends a command; resolves with its reply, `undefined` if there will be none. `began` is called when the reply
   * arrives, so that it is placed in order among the events.
   */
  send(command: string, began?: () => void): Promise<EslFrame | undefined>
  /**
   * Runs an API command in the background, so that events arrive meanwhile; resolves with its output, `undefined` if
   * no output came.
   */
  runJob(command: string): Promise<string | undefined>
  /** Begins to run an API command in the background. */
  startJob(command: string): Job
  /** Takes a frame that greets, replies or ends a job; returns `false` for any other, or if nothing awaits it. */
  receive(frame: EslFrame): boolean
  /** Ends all commands and jobs: there will be no replies. */
  close(): void
}

/** `accepted`: the reply to the command, such as `+OK …`; `ended`: its output. `undefined`: it will not come. */
type Job = { readonly accepted: Promise<string | undefined>; readonly ended: Promise<string | undefined> }

type Pending = { readonly resolve: (reply: EslFrame | undefined) => void; readonly began: () => void }

type Options = {
  readonly write: (text: string) => void
  readonly replyMs: number
  /** Called when a reply does not arrive: later ones could no longer be matched. */
  readonly lost: (reason: string) => void
  /** Returns whether bytes have arrived that are not decoded yet. */
  readonly isBehind?: () => boolean
}

/** Returns the commands of one connection. */
export function createCommands({ write, replyMs, lost, isBehind }: Options): Commands {
  const pending: Pending[] = []
  const jobs = new Map<string, (body: string | undefined) => void>()
  const greeting = Promise.withResolvers<boolean>()
  let isClosed = false

  function send(text: string, began: () => void): Promise<EslFrame | undefined> {
    return new Promise((resolvePromise) => {
      // Names only the first word, since the others may be a password.
      const expire = (): void => lost(`${text.split(' ')[0]} is not answered`)
      const deadline = startReplyDeadline(replyMs, expire, isBehind)
      const resolve = (reply: EslFrame | undefined): void => {
        deadline.cancel()
        resolvePromise(reply)
      }
      pending.push({ resolve, began })
      write(`${text}\n\n`)
    })
  }

  function startJob(command: string): Job {
    if (isClosed || holdsLineEnd(command)) return NO_JOB
    // Chosen here, since a job may end before its command is answered.
    const id = crypto.randomUUID()
    const { promise: ended, resolve } = Promise.withResolvers<string | undefined>()
    const deadline = startReplyDeadline(replyMs, () => resolve(undefined), isBehind)
    jobs.set(id, resolve)
    void ended.then(() => {
      deadline.cancel()
      jobs.delete(id)
    })
    const accepted = send(`bgapi ${command}\nJob-UUID: ${id}`, () => {}).then((begun) => {
      const reply = begun?.get('Reply-Text')
      if (reply?.startsWith('+OK') !== true) resolve(undefined)
      return reply
    })
    return { accepted, ended }
  }

  return {
    async greeting(withinMs) {
      const timer = setTimeout(() => greeting.resolve(false), withinMs)
      const hasArrived = await greeting.promise
      clearTimeout(timer)
      return hasArrived
    },
    send(command, began = () => {}) {
      return isClosed || holdsLineEnd(command) ? Promise.resolve(undefined) : send(command, began)
    },
    async runJob(command) {
      const { accepted, ended } = startJob(command)
      const reply = await accepted
      if (reply === undefined) return undefined
      return reply.startsWith('+OK') ? await ended : '-ERR not allowed'
    },
    startJob,
    receive(frame) {
      if (frame.event?.name === 'BACKGROUND_JOB') {
        const { event } = frame
        jobs.get(event.get('Job-UUID'))?.(event.body)
        return true
      }
      if (frame.contentType === 'auth/request') {
        greeting.resolve(true)
        return true
      }
      if (frame.contentType !== 'command/reply' && frame.contentType !== 'api/response') return false
      const command = pending.shift()
      command?.began()
      command?.resolve(frame)
      return command !== undefined
    },
    close() {
      isClosed = true
      greeting.resolve(false)
      for (const { resolve } of pending.splice(0)) resolve(undefined)
      for (const resolve of jobs.values()) resolve(undefined)
    },
  }
}

const NOTHING: Promise<undefined> = Promise.resolve(undefined)
const NO_JOB: Job = { accepted: NOTHING, ended: NOTHING }

const holdsLineEnd = (command: string): boolean => /[\r\n\0]/.test(command)
