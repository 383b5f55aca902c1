import type { PhoneNumber } from '../../contacts/lookup.ts'
import type { Call, CallEventBody, Contact, Party } from '../event.ts'

// Which parties of a body have a contact; pure.

/** Fewer digits are a service of the PBX or of the network. */
const LEAST_DIGITS = 5
const NUMBER = /^\+?[\d\s()./-]+$/

/** Returns the number of a party that may have a contact: one from outside the PBX. A called DID is the PBX's own. */
function outsideNumber({ number, extension, e164 }: Party, did: string | null): PhoneNumber | undefined {
  if (number === null || extension !== null || number === did || !NUMBER.test(number)) return undefined
  return number.replace(/\D/g, '').length < LEAST_DIGITS ? undefined : { number, e164 }
}

type Mutable = { -readonly [Name in keyof Party]: Party[Name] }

/** Returns the parties of a call that may have a contact, each with its number. */
function* partiesOfCall(call: Call): Generator<readonly [Mutable, PhoneNumber]> {
  // Of an inbound call the called number is the PBX's own, whatever it looks like.
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
export const numbersOf = (body: CallEventBody): PhoneNumber[] => Array.from(partiesOf(body), ([, phone]) => phone)

type ContactOf = (phone: PhoneNumber) => Contact | null

/** Gives the parties of a body, which nobody has seen yet, their contacts. */
export function fillBody(body: CallEventBody, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOf(body)) party.contact = contactOf(phone)
}

/** Gives the parties of a call their contacts. */
export function fillCall(call: Call, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOfCall(call)) party.contact = contactOf(phone)
}
