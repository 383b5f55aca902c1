import type { Call, CallEvent, CallEventBody, Contact } from '../../events/bodies.ts'
import { keyOf, type PhoneNumber } from '../../events/phone-number.ts'
import { fillBody, fillCall, numbersOf } from './party-contacts.ts'

/** The look-ups of contacts, as far as calls need them. */
export type ContactLookUps = {
  /** Returns whether an account looks up contacts. */
  looksUp(accountId: number): boolean
  /**
   * Returns a known contact; `null` if the number has none or is not looked up now; else a look-up in progress, for
   * which a call may wait `waitMs`.
   */
  begin(
    accountId: number,
    phone: PhoneNumber,
  ): Contact | null | { readonly contact: Promise<Contact | null>; readonly waitMs: number }
}

/** The contacts of the calls of one PBX. */
export type CallContacts = {
  /**
   * Begins to look up numbers that are new in their calls; the calls wait for the contacts within their account's
   * budget.
   */
  note(events: readonly CallEvent[]): void
  /** The calls whose events are waiting for a contact. */
  readonly waiting: ReadonlySet<string>
  /** Adds the contacts that are known by now to the parties of a body. */
  fill(body: CallEventBody): void
  /** Adds contacts to the parties of a call. */
  fillCall(call: Call): void
  /** Forgets calls that are over. */
  forget(callIds: readonly string[]): void
  /** Ends all waiting, for good. */
  stop(): void
}

type CallContactsOptions = {
  readonly directory: ContactLookUps
  readonly accountIdOf: (account: string) => number | undefined
  /** Called when the events of a call no longer wait. */
  readonly onReleased: () => void
}

type Known = {
  /** The contact of each number so far, so that a number is looked up once per call. */
  readonly contacts: Map<string, Contact | null>
  /** The number of look-ups for which the call waits. */
  awaited: number
}

/** Creates the contacts for the calls of a PBX. For an account without look-ups this costs one access to a map. */
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

  /** Makes a call wait. Returns the function that ends the wait; calling it again does nothing. */
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
    return contacts === undefined ? undefined : (phone: PhoneNumber) => contacts.get(keyOf(phone)) ?? null
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
