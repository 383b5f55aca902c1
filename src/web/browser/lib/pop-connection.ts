import { authorizationHeader, request, withQuery } from './api.ts'
import { createEventStreamDecoder } from './event-stream-decoder.ts'
import { observable } from './observable.ts'
import { applyCall, NO_CALLS, otherParty, type PopCalls, withoutLive } from './pop-calls.ts'
import { lookUpContact } from './pop-contacts.ts'
import { closeNotice, showNotice } from './pop-notice.ts'
import type { Call } from './resources.ts'
import { serverOffsetMs } from './server-clock.ts'
import { clearToken } from './session.ts'
import { keepReading, readMessages } from './stream-reader.ts'

export const popCalls = observable<PopCalls>(NO_CALLS)

/** Whether the page is live; a text is the reason for people why the page is not live. */
export const popState = observable<'connecting' | 'up' | { readonly problem: string }>('connecting')

/** Whether calls can be made with this token. */
export const mayCallFromPop = observable(false)

const LOST = 'Not connected: calls are not shown. Trying again…'
const ENDED = 'This link is no longer valid, or the session has ended. Ask for a new link, or log in.'

/**
 * Follows the calls of an extension until it is stopped. A page that is in the background follows them only if no other
 * one does: a CRM may have it in each of ten tabs, and a browser keeps six connections to a host.
 */
export function startPopConnection(extension: string | null): { stop(): void } {
  const stopping = new AbortController()
  let reading: AbortController | null = null
  let isLeader = false
  const adjust = () => {
    const isWanted = !stopping.signal.aborted && (isLeader || !document.hidden)
    if (!isWanted) {
      reading?.abort()
      reading = null
    } else if (reading === null) {
      reading = new AbortController()
      const read = (signal: AbortSignal) => readCalls(extension, signal)
      void keepReading(read, reading.signal, onLost)
    }
  }
  document.addEventListener('visibilitychange', adjust)
  const lead = async () => {
    isLeader = true
    adjust()
    await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
  }
  // Without the browser's locks, as on a page without TLS, each page is on its own.
  const asked = navigator.locks?.request('hookswitch.pop', { signal: stopping.signal }, lead) ?? lead()
  asked.catch(() => (stopping.signal.aborted ? undefined : lead()))
  adjust()
  void askRight()
  return {
    stop() {
      stopping.abort()
      document.removeEventListener('visibilitychange', adjust)
      adjust()
      popCalls.set(NO_CALLS)
      popState.set('connecting')
      mayCallFromPop.set(false)
    },
  }
}

function onLost(): void {
  if (typeof popState.get() === 'string') popState.set({ problem: LOST })
}

/** An empty request for a call dials nothing: it is refused, and the reason says whether calls can be made. */
async function askRight(): Promise<void> {
  const response = await request('POST', '/call', {})
  mayCallFromPop.set(!response.ok && response.status === 422)
}

async function readCalls(extension: string | null, signal: AbortSignal): Promise<void> {
  const silent = new AbortController()
  const response = await fetch(withQuery('/stream', { extension: extension ?? undefined }), {
    headers: authorizationHeader(),
    credentials: 'omit',
    signal: AbortSignal.any([signal, silent.signal]),
  })
  if (!response.ok || response.body === null) return refused(response)
  const date = Date.parse(response.headers.get('date') ?? '')
  if (Number.isFinite(date)) serverOffsetMs.set(date - Date.now())
  popState.set('up')
  popCalls.update(withoutLive)
  const decode = createEventStreamDecoder(({ name, data }) => {
    if (name !== 'call') return
    // The server sends what its schemas declare.
    const call: Call = JSON.parse(data)
    popCalls.update((calls) => applyCall(calls, call, extension))
    // The notice waits for the look-up of the name; the call may have ended by then.
    void lookUpContact(otherParty(call, extension)).then(() => {
      const now = popCalls.get().live.find(({ id }) => id === call.id)
      if (now === undefined) closeNotice(call.id)
      else showNotice(now, extension)
    })
  })
  await readMessages(response.body, silent, decode)
}

async function refused(response: Response): Promise<void> {
  if (response.status === 401) return clearToken(ENDED)
  const envelope: unknown = await response.json()
  const message = typeof envelope === 'object' && envelope !== null ? Reflect.get(envelope, 'message') : undefined
  popState.set({ problem: typeof message === 'string' ? message : LOST })
}
