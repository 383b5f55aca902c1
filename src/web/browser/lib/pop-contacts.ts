import { request, withQuery } from './api.ts'
import { observable } from './observable.ts'
import type { Contact, Party } from './resources.ts'

/** The contacts of the pop page. The first event of a call may lack its contact: then the page asks for the contact. */

type Contacts = ReadonlyMap<string, Contact | null>

/** The limit of contacts, for a page that is open for weeks. */
const MAX_CONTACTS = 500

/** The contacts by number; `null`: no contact, or a look-up in flight. */
export const popContacts = observable<Contacts>(new Map())

/** Returns a party with its contact, if a contact is known. */
export function withContact(party: Party, contacts: Contacts): Party {
  const number = outsideNumber(party)
  return number === null ? party : { ...party, contact: contacts.get(number) ?? null }
}

type Answer = { readonly contact: Contact | null; readonly state: 'found' | 'unknown' | 'late' | 'failed' }

/** An answer that is late is there soon after. */
const AGAIN_MS = 1_000
const MAX_REQUESTS = 5

/** Asks for the contact of a party, once for each number. */
export async function lookUpContact(party: Party): Promise<void> {
  const number = outsideNumber(party)
  if (number === null || popContacts.get().has(number)) return
  setContact(number, null)
  for (let count = 1; count <= MAX_REQUESTS; count += 1) {
    const response = await request<Answer>('GET', withQuery('/contact', { number, detail: 'true' }))
    if (response.ok && response.result.contact !== null) setContact(number, response.result.contact)
    if (!response.ok || response.result.state !== 'late') return
    await new Promise((resume) => setTimeout(resume, AGAIN_MS))
  }
}

/** Returns the number of a party that lacks a contact and may have one. */
const outsideNumber = ({ contact, extension, e164, number }: Party): string | null =>
  contact === null && extension === null ? (e164 ?? number) : null

function setContact(number: string, contact: Contact | null): void {
  popContacts.update((before) => new Map([...(before.size < MAX_CONTACTS ? before : []), [number, contact]]))
}
