import { keep, readKept, removeKept } from './browser-storage.ts'
import { rememberedForm } from './call-from-phone.ts'
import { observable } from './observable.ts'
import { accessToken, useToken } from './session.ts'

/**
 * The address of the pop page: `/pop?extension=101&pbx=office#token=hks_…&call=+4930123456`. No request has the
 * fragment, and it is removed from the address at once, so that nobody sees or copies the token.
 */

/** The token of a link, for a reload of this tab. Elsewhere than the token of a log-in, which has more rights. */
const KEY = 'hookswitch.pop'

const query = new URLSearchParams(location.search)
const asked = query.get('extension')?.trim() ?? ''

/** The PBX of the extension, if several PBXs have that extension. */
export const popPbx: string = query.get('pbx') ?? ''

/** The extension whose calls are shown; `null`: all calls; `undefined`: the page asks for an extension. */
export const popExtension = observable<string | null | undefined>(undefined)

/** A number of a link, which is shown with a button; `null` without one. */
export const popNumber = observable<string | null>(null)

/** Reads the address, now and when it changes. */
export function watchPopAddress(): void {
  const kept = readKept('tab', KEY)
  if (kept !== null) useToken(kept)
  takeFragment()
  setExtension()
  addEventListener('hashchange', takeFragment)
  // A log-in, unlike a link, may read all calls of the account: the page asks for one extension.
  accessToken.subscribe(() => {
    if (accessToken.get() === null) removeKept('tab', KEY)
    setExtension()
  })
}

/** Shows the calls of an extension from now on. */
export function chooseExtension(extension: string): void {
  query.set('extension', extension)
  history.replaceState(null, '', `${location.pathname}?${query}`)
  popExtension.set(extension)
}

function setExtension(): void {
  const isOfLink = readKept('tab', KEY) !== null || linkToken !== null
  const own = rememberedForm().from
  if (asked !== '') popExtension.set(asked)
  else if (isOfLink) popExtension.set(null)
  else if (popExtension.get() === undefined && own !== '') popExtension.set(own)
}

let linkToken: string | null = null

function takeFragment(): void {
  const parts = partsOf(location.hash.slice(1))
  if (parts.size === 0) return
  history.replaceState(null, '', location.pathname + location.search)
  const token = parts.get('token')
  if (token !== undefined) {
    linkToken = token
    keep('tab', KEY, token)
    useToken(token)
  }
  const number = parts.get('call')
  if (number !== undefined) popNumber.set(number)
}

/** Returns the parts of a fragment. A `+` stays one: it begins a number. */
function partsOf(fragment: string): ReadonlyMap<string, string> {
  const pairs = fragment.split('&').flatMap((pair) => {
    const at = pair.indexOf('=')
    return at < 1 ? [] : [[pair.slice(0, at), decoded(pair.slice(at + 1)).trim()] as const]
  })
  return new Map(pairs.filter(([, value]) => value !== ''))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
