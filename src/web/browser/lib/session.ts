import { cell } from './state.ts'

/**
 * The access token lives in this tab's sessionStorage: it survives a reload, no other origin (another port of this host
 * neither) and no other tab can read it, and unlike a cookie it is never sent by itself, so no other site can use it.
 * On this origin only our own scripts run: the Content-Security-Policy allows no inline and no foreign ones.
 */
const KEY = 'hookswitch.token'

export const token = cell<string | null>(sessionStorage.getItem(KEY))

/** Why the login form is shown, if there is something to say. */
export const loginNotice = cell<string | null>(null)

export function keepToken(next: string): void {
  sessionStorage.setItem(KEY, next)
  loginNotice.set(null)
  token.set(next)
}

export function dropToken(notice: string | null): void {
  sessionStorage.removeItem(KEY)
  loginNotice.set(notice)
  token.set(null)
}
