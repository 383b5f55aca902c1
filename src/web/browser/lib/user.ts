import { useEffect } from 'preact/hooks'
import { request } from './api.ts'
import { useReconnected } from './connection.ts'
import { observable, useObservable } from './observable.ts'
import type { User } from './resources.ts'
import { accessToken } from './session.ts'

const currentUser = observable<{ readonly token: string; readonly user: User } | null>(null)

/** Returns the user who is logged in, `null` until that is known. */
export function useUser(): User | null {
  const token = useObservable(accessToken)
  const known = useObservable(currentUser)
  const read = () => {
    if (token === null || currentUser.get()?.token === token) return
    void request<User>('GET', '/auth/me').then((response) => {
      if (response.ok) currentUser.set({ token, user: response.result })
    })
  }
  useEffect(read, [token])
  // The service may have been away when the page was opened.
  useReconnected(read)
  return known !== null && known.token === token ? known.user : null
}

/** Returns whether the user who is logged in is an administrator; `null` until that is known. */
export function useIsAdmin(): boolean | null {
  const user = useUser()
  return user === null ? null : user.type.name === 'ADMIN'
}
