import type { ContactDirectory } from '../../contacts/directory.ts'
import { keyOf } from '../../contacts/lookup.ts'
import type { Call, CallEvent, CallEventBody, Contact } from '../event.ts'
import { fillBody, fillCall, numbersOf } from './party-contacts.ts'

/** The contacts of the calls of one PBX. */
export type CallContacts = {
  /** Begins to look up the numbers that are new in their calls, which wait for that within their budget. */
  note(events: readonly CallEvent[]): void
  /** The calls whose events wait. */
  readonly waiting: ReadonlySet<string>
  /** Gives the parties of a body their contacts, as far as they are known by now. */
  fill(body: CallEventBody): void
  /** Gives the parties of a call their contacts. */
  fillCall(call: Call): void
  /** Forgets calls that are over. */
  forget(callIds: readonly string[]): void
  /** Ends all waiting, and lets nothing wait from now on. */
  stop(): void
}

type CallContactsOptions = {
  readonly directory: Pick<ContactDirectory, 'looksUp' | 'begin'>
  readonly accountIdOf: (account: string) => number | undefined
  /** Called when events of a call wait no more. */
  readonly onReleased: () => void
}

type Known = {
  /** What was found of each number so far: it is looked up once for a call. */
  readonly contacts: Map<string, Contact | null>
  /** The look-ups for which the call waits. */
  awaited: number
}

/** Creates the contacts of the calls of a PBX. An account that looks up none costs a look into a map. */
export function createCallContacts({ directory, accountIdOf, onReleased }: CallContactsOptions): CallContacts {
  const calls = new Map<string, Known>()
  const waiting = new Set<string>()
  const timers = new Set<Timer>()
  let isStopped = false

  function noteEvent({ callId, body }: CallEvent): void {
    const accountId = accountIdOf(body.data.account)
    if (accountId === undefined || !directory.looksUp(accountId)) return
    const known = calls.get(callId) ?? { contacts: new Map(), awaited: 0 }
    calls.set(callId, known)
    for (const phone of numbersOf(body)) {
      const key = keyOf(phone)
      if (known.contacts.has(key)) continue
      const begun = directory.begin(accountId, phone)
      const isPending = begun !== null && 'contact' in begun
      known.contacts.set(key, isPending ? null : begun)
      if (!isPending) continue
      const release = begun.waitMs > 0 && !isStopped ? wait(callId, known, begun.waitMs) : undefined
      begun.contact.then((contact) => {
        known.contacts.set(key, contact)
        release?.()
      })
    }
  }

  /** Lets a call wait. Returns the function that ends it, which may be called again. */
  function wait(callId: string, known: Known, waitMs: number): () => void {
    known.awaited += 1
    waiting.add(callId)
    let isOver = false
    const release = (): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      timers.delete(timer)
      known.awaited -= 1
      if (known.awaited > 0) return
      waiting.delete(callId)
      onReleased()
    }
    const timer = setTimeout(release, waitMs)
    timers.add(timer)
    return release
  }

  const contactOf = (callId: string) => {
    const contacts = calls.get(callId)?.contacts
    return contacts === undefined
      ? undefined
      : (phone: Parameters<typeof keyOf>[0]) => contacts.get(keyOf(phone)) ?? null
  }

  return {
    note(events) {
      for (const event of events) noteEvent(event)
    },
    waiting,
    fill(body) {
      const found = contactOf(body.data.call.id)
      if (found !== undefined) fillBody(body, found)
    },
    fillCall(call) {
      const found = contactOf(call.id)
      if (found !== undefined) fillCall(call, found)
    },
    forget(callIds) {
      for (const id of callIds) calls.delete(id)
    },
    stop() {
      isStopped = true
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
      waiting.clear()
      onReleased()
    },
  }
}
