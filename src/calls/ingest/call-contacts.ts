import type { Call, CallEvent, CallEventBody, Contact, Party } from '../../events/bodies.ts'
import { keyOf, type PhoneNumber } from '../../events/phone-number.ts'

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

// Decides which parties of a body may have a contact; pure.

/** A shorter number is a service of the PBX or the network. */
const LEAST_DIGITS = 5
const NUMBER = /^\+?[\d\s()./-]+$/

/** Returns a party's number if it may have a contact: a number outside the PBX. A called DID is the PBX's own. */
function outsideNumber({ number, extension, e164 }: Party, did: string | null): PhoneNumber | undefined {
  if (number === null || extension !== null || number === did || !NUMBER.test(number)) return undefined
  return number.replace(/\D/g, '').length < LEAST_DIGITS ? undefined : { number, e164 }
}

type Mutable = { -readonly [Name in keyof Party]: Party[Name] }

/** Returns the parties of a call that may have a contact, each with its number. */
function* partiesOfCall(call: Call): Generator<readonly [Mutable, PhoneNumber]> {
  // The called number of an inbound call is the PBX's own, whatever its form.
  const called = call.direction === 'inbound' ? [] : [call.to]
  const answered = call.answered_by === null ? [] : [call.answered_by]
  yield* outside([call.from, ...called, ...answered, ...call.handled_by], call.did)
}

function* outside(parties: readonly Party[], did: string | null): Generator<readonly [Mutable, PhoneNumber]> {
  for (const party of parties) {
    const phone = outsideNumber(party, did)
    if (phone !== undefined) yield [party, phone]
  }
}

function* partiesOf({ data }: CallEventBody): Generator<readonly [Mutable, PhoneNumber]> {
  yield* partiesOfCall(data.call)
  const { did } = data.call
  if ('by' in data && data.by !== null) yield* outside([data.by], did)
  if (!('transfer' in data)) return
  const { by, transferee, to } = data.transfer
  yield* outside(transferee === null ? [by, to] : [by, transferee, to], did)
}

/** Returns the numbers of a body that may have a contact. */
const numbersOf = (body: CallEventBody): PhoneNumber[] => Array.from(partiesOf(body), ([, phone]) => phone)

type ContactOf = (phone: PhoneNumber) => Contact | null

/** Adds contacts to the parties of a body. Changes the body itself, to which nothing else may refer yet. */
function fillBody(body: CallEventBody, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOf(body)) party.contact = contactOf(phone)
}

/** Adds contacts to the parties of a call. */
function fillCall(call: Call, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOfCall(call)) party.contact = contactOf(phone)
}
