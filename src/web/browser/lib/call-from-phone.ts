import { request } from './api.ts'
import { keep, readKept } from './browser-storage.ts'
import { observable } from './observable.ts'
import type { Phone } from './resources.ts'
import { currentRoute, replaceRoute, routeHref } from './router.ts'
import { accessToken } from './session.ts'
import type { Failure } from './use-form.ts'

/** Calls that are made from the reader's own phone, which this browser remembers. */

/** A number that somebody wants to call; nothing is dialled before a press of the button that it is shown with. */
export type Wanted = { readonly number: string; readonly name: string | null }
type OwnPhone = { readonly extension: string; readonly pbx: string | null }
export type CallForm = { readonly from: string; readonly pbx: string }
export type MadeCall = { readonly request_id: string; readonly call_id: string | null }

export const wantedCall = observable<Wanted | null>(null)

/** Whether the service has said in this session that calls are off: no number has a button then. */
export const areCallsOff = observable(false)

const KEY = 'hookswitch.phone'

/** Returns the form with the phone that this browser remembers. */
export function rememberedForm(): CallForm {
  const { extension, pbx } = parseOwnPhone(readKept('browser', KEY))
  return { from: extension, pbx: pbx ?? '' }
}

function parseOwnPhone(text: string | null): OwnPhone {
  const [extension = '', pbx = null] = text?.split('\n') ?? []
  return { extension, pbx }
}

/** Returns a number as the API takes it, `null` if it cannot be called. */
export function callableNumber(text: string | null): string | null {
  const number = text?.replace(/[ ()[\].\-/]/g, '') ?? ''
  return /^\+?[\d*#]{1,32}$/.test(number) ? number : null
}

/** Takes the number out of an address such as `/#call=+4930123456`, which links of other systems have. */
function takeNumber(): void {
  const [, text] = /^#\/?call=([^&]+)$/.exec(location.hash) ?? []
  if (text === undefined) return
  replaceRoute(routeHref('live'))
  wantedCall.set({ number: decodeNumber(text), name: null })
}

function decodeNumber(text: string): string {
  try {
    return decodeURIComponent(text).trim()
  } catch {
    return text
  }
}

/** Shows the number of the address, now and whenever a link with another one is opened. */
export function watchNumbers(): void {
  takeNumber()
  currentRoute.subscribe(takeNumber)
  // The request of one user is not for the next one; the number of a link waits for its log-in.
  accessToken.subscribe(() => {
    if (accessToken.get() !== null) return
    wantedCall.set(null)
    areCallsOff.set(false)
  })
}

/** Makes the call, and remembers the phone. */
export async function makeCall({ number, name }: Wanted, { from, pbx }: CallForm): Promise<MadeCall | Failure> {
  const response = await request<MadeCall>('POST', '/call', {
    from: from.trim(),
    to: number,
    ...(pbx === '' ? {} : { pbx }),
    ...(name === null ? {} : { name: name.slice(0, MAX_NAME) }),
  })
  if (response.ok) {
    keep('browser', KEY, pbx === '' ? from.trim() : `${from.trim()}\n${pbx}`)
    return response.result
  }
  if (response.status === 403) areCallsOff.set(true)
  return { message: response.message, errors: response.errors.map(sentence) }
}

/** The API takes no longer ones. */
const MAX_NAME = 80

/** The API's message about a field is the end of a sentence; a name or number that is wrong is about no field here. */
const sentence = ({ path, message }: { path: string; message: string }) => ({
  path,
  message: `${path === '/from' ? 'The extension' : path === '/to' ? 'The number' : path === '/name' ? 'The name' : 'This'} ${message}`,
})

/** Returns the PBXs on which an extension is known. */
export const pbxsOf = (phones: readonly Phone[], extension: string): string[] => [
  ...new Set(phones.filter((phone) => phone.extension === extension.trim()).map(({ pbx }) => pbx)),
]
