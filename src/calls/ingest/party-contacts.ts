import type { Call, CallEventBody, Contact, Party } from '../../events/bodies.ts'
import type { PhoneNumber } from '../../events/phone-number.ts'

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
export const numbersOf = (body: CallEventBody): PhoneNumber[] => Array.from(partiesOf(body), ([, phone]) => phone)

type ContactOf = (phone: PhoneNumber) => Contact | null

/** Adds contacts to the parties of a body. Changes the body itself, to which nothing else may refer yet. */
export function fillBody(body: CallEventBody, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOf(body)) party.contact = contactOf(phone)
}

/** Adds contacts to the parties of a call. */
export function fillCall(call: Call, contactOf: ContactOf): void {
  for (const [party, phone] of partiesOfCall(call)) party.contact = contactOf(phone)
}
