import { keep, readKept, removeKept } from './browser-storage.ts'
import { observable } from './observable.ts'

/**
 * The access token is kept in this tab's sessionStorage, or with "Stay logged in" in the browser's localStorage, for
 * new tabs too. No other origin (another port of this host neither) can read either, and unlike a cookie the token is
 * never sent by itself, so no other site can use it. On this origin only our own scripts run: the
 * Content-Security-Policy allows no inline and no foreign ones.
 */
const KEY = 'hookswitch.token'

const keptToken = (): string | null => readKept('tab', KEY) ?? readKept('browser', KEY)

export const accessToken = observable<string | null>(keptToken())

/** The reason why the login form is shown; `null` without a reason. */
export const loginNotice = observable<string | null>(null)

/** Logs in with this token; `stay` keeps it for new tabs and after the browser was closed. */
export function logInWith(token: string, stay: boolean): void {
  keep(stay ? 'browser' : 'tab', KEY, token)
  useToken(token)
}

/** Uses a token in this page alone, without storing it. */
export function useToken(token: string): void {
  loginNotice.set(null)
  accessToken.set(token)
}

/** Replaces the token where it is kept. */
export function replaceToken(token: string): void {
  logInWith(token, readKept('tab', KEY) === null)
}

/** Forgets the token, which leads back to the login form with this notice. Another token that is kept stays. */
export function clearToken(notice: string | null): void {
  if (accessToken.get() === keptToken()) {
    removeKept('tab', KEY)
    removeKept('browser', KEY)
  }
  loginNotice.set(notice)
  accessToken.set(null)
}

// Logging in or out in another tab, where the token is shared with it.
addEventListener('storage', ({ key, oldValue, newValue }: StorageEvent) => {
  if (key !== KEY || readKept('tab', KEY) !== null) return
  const token = accessToken.get()
  // A page with another token than the kept one does not follow the login.
  if (token !== null && token !== oldValue) return
  // Nothing of one user may stay on the page of another.
  if (newValue !== null && token !== null) return location.reload()
  loginNotice.set(newValue === null ? 'You logged out in another tab.' : null)
  accessToken.set(newValue)
})
