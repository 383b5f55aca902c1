import { request } from './api.ts'
import { clearToken } from './session.ts'

/** Revokes the token of this session, and shows the login form. */
export async function logOut(): Promise<void> {
  await request('POST', '/auth/logout')
  clearToken(null)
}
