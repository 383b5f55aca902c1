import { observable } from './observable.ts'

/**
 * The access token lives in this tab's sessionStorage: it survives a reload, no other origin (another port of this host
 * neither) and no other tab can read it, and unlike a cookie it is never sent by itself, so no other site can use it.
 * On this origin only our own scripts run: the Content-Security-Policy allows no inline and no foreign ones.
 */
const KEY = 'hookswitch.token'

export const accessToken = observable<string | null>(sessionStorage.getItem(KEY))

/** The reason why the login form is shown, if there is one to give. */
export const loginNotice = observable<string | null>(null)

/** Keeps the token for later requests, which logs the page in. */
export function saveToken(token: string): void {
  sessionStorage.setItem(KEY, token)
  loginNotice.set(null)
  accessToken.set(token)
}

/** Forgets the token, which leads back to the login form with this notice. */
export function clearToken(notice: string | null): void {
  sessionStorage.removeItem(KEY)
  loginNotice.set(notice)
  accessToken.set(null)
}
