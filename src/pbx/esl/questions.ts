import type { TenantRule } from '../source/pbx-url.ts'
import { ANSWER, answerEvent } from './answers.ts'
import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { type EslEvent, variableOf } from './event.ts'
import { calledUser, dialledUser, isNameless } from './nameless.ts'
import { variableOfRule } from './tenant-request.ts'

/**
 * Asks FreeSWITCH for facts that its events leave open: the tenant value of a caller's leg, which a dialplan sets long
 * before an event shows it, and the names of users that it dials under another name. Answers are processed like events.
 */
type Questions = {
  /** Asks for facts that an event leaves open. */
  ask(frame: EslFrame, answered: (frame: EslFrame) => void): void
  /** Asks for the names of users before they are dialled, one after the other. */
  learnNames(users: readonly string[], answered: (frame: EslFrame) => void): Promise<void>
  /** Stops asking. */
  stop(): void
}

/** A dialplan sets the tenant value within milliseconds, or after a database query or an announcement. */
const DELAYS_MS = [0, 50, 150, 300, 500, 1_000, 1_500, 2_000, 2_000, 2_000] as const
/** The most legs and users that are asked for at a time. */
const MAX_LEGS = 1_000
const MAX_USERS = 50
/** When a name is asked for again, and when after an answer without a name: the directory may have been away. */
const NAME_MS = 600_000
const NO_NAME_MS = 60_000
/** The most known names. */
const MAX_NAMES = 20_000
/** The most users whose names are asked for before they are dialled: each costs FusionPBX a look-up of some 10 ms. */
const MAX_LEARNED = 2_000

/** Returns the questions of one connection. */
export function createQuestions(
  commands: Pick<Commands, 'send' | 'runJob'>,
  tenants: TenantRule | undefined,
  nowMs: () => number = () => performance.now(),
): Questions {
  const variable = tenants === undefined ? null : variableOfRule(tenants)
  const legs = new Map<string, Timer | undefined>()
  const askedMs = new Map<string, number>()
  let asking = 0
  let isStopped = false

  const forget = (id: string): void => {
    clearTimeout(legs.get(id))
    legs.delete(id)
  }

  async function askTenant(id: string, name: string, attempt: number, answered: (frame: EslFrame) => void) {
    const reply = await commands.send(`api uuid_getvar ${id} ${name}`)
    if (!legs.has(id)) return
    const value = reply?.body.trim() ?? '-ERR'
    const isOpen = value === '' || value === '_undef_'
    const delayMs = DELAYS_MS[attempt + 1]
    if (isOpen && delayMs !== undefined) {
      legs.set(id, setTimeout(askTenant, delayMs, id, name, attempt + 1, answered))
      return
    }
    forget(id)
    if (isOpen || value.startsWith('-')) return
    answered(answerEvent(ANSWER, { 'Unique-ID': id, [`variable_${name}`]: value }))
  }

  function followLeg(event: EslEvent, name: string, answered: (frame: EslFrame) => void): void {
    const id = event.get('Unique-ID')
    if (event.name === 'CHANNEL_CREATE') {
      const isCaller = event.get('Call-Direction') === 'inbound' && !event.get('Channel-Name').startsWith('loopback/')
      if (!isCaller || legs.size >= MAX_LEGS || !isId(id) || variableOf(event, name) !== '') return
      legs.set(id, undefined)
      void askTenant(id, name, 0, answered)
    } else if (legs.has(id) && (event.name === 'CHANNEL_HANGUP' || variableOf(event, name) !== '')) forget(id)
  }

  async function askName(user: string, answered: (frame: EslFrame) => void): Promise<void> {
    asking += 1
    const body = await commands.runJob(`user_data ${user} var effective_caller_id_name`)
    asking -= 1
    const name = body?.trim() ?? ''
    const isKnown = name !== '' && name !== '_undef_' && !name.startsWith('-')
    if (isKnown) answered(answerEvent(ANSWER, { user, name }))
    else askedMs.set(user, nowMs() - NAME_MS + NO_NAME_MS)
  }

  function followUser(event: EslEvent, answered: (frame: EslFrame) => void): void {
    if (event.name !== 'CHANNEL_CREATE') return
    const user = event.get('Call-Direction') === 'outbound' ? namelessUser(event) : calledUser(event)
    if (asking < MAX_USERS && isDue(user)) void askName(user, answered)
  }

  /** Returns whether a user's name is to be asked for now, and notes that it is. */
  function isDue(user: string): boolean {
    if (!isUser(user) || nowMs() - (askedMs.get(user) ?? Number.NEGATIVE_INFINITY) < NAME_MS) return false
    if (askedMs.size >= MAX_NAMES) askedMs.clear()
    askedMs.set(user, nowMs())
    return true
  }

  return {
    ask({ event }, answered) {
      if (event === undefined) return
      if (variable !== null) followLeg(event, variable, answered)
      followUser(event, answered)
    },
    async learnNames(users, answered) {
      for (const user of users.slice(0, MAX_LEARNED)) {
        if (isStopped) return
        if (isDue(user)) await askName(user, answered)
      }
    },
    stop() {
      isStopped = true
      for (const id of [...legs.keys()]) forget(id)
    },
  }
}

/** Returns the user whose phone a leg dials without a name. If the dialplan gives one, that may be anything. */
const namelessUser = (event: EslEvent): string =>
  variableOf(event, 'origination_callee_id_name') === '' && !isNameless(event) ? '' : dialledUser(event)

const isId = (id: string): boolean => /^[\w-]{1,64}$/.test(id)
const isUser = (user: string): boolean => /^[\w.+-]{1,64}@[\w.-]{1,128}$/.test(user)
