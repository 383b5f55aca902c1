import { partyTexts } from './contact.ts'
import { observable } from './observable.ts'
import { isRingingHere, otherParty } from './pop-calls.ts'
import { popContacts, withContact } from './pop-contacts.ts'
import type { Call } from './resources.ts'

/** Notices of the browser while the page is in the background. */

/** `default`: the reader may be asked; a browser denies notices in the frame of another site. */
const permission = (): NotificationPermission =>
  typeof Notification === 'undefined' ? 'denied' : Notification.permission

export const noticePermission = observable<NotificationPermission>(permission())

export async function askForNotices(): Promise<void> {
  noticePermission.set(await Notification.requestPermission().catch(() => permission()))
}

const noticed = new Map<string, Notification>()

/** Takes back that a call rings. */
export function closeNotice(callId: string): void {
  noticed.get(callId)?.close()
  noticed.delete(callId)
}

/** Shows who calls, once for each call, and takes that back when it no longer rings. */
export function showNotice(call: Call, extension: string | null): void {
  if (!isRingingHere(call, extension)) closeNotice(call.id)
  else if (document.hidden && permission() === 'granted' && !noticed.has(call.id)) open(call, extension)
}

function open(call: Call, extension: string | null): void {
  const { main, beside } = partyTexts(withContact(otherParty(call, extension), popContacts.get()))
  try {
    // Another page of this service shows the same call in its place, not a second time.
    const notice = new Notification(`${main} calls`, { body: beside.join(', '), tag: call.id })
    notice.onclick = () => {
      focus()
      notice.close()
    }
    noticed.set(call.id, notice)
  } catch {
    // Browsers of phones have notices for installed pages alone.
  }
}
