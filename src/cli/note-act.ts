import { userInfo } from 'node:os'
import { nowUs } from '../lib/time.ts'
import type { OperatorAct } from '../store/operations/accounts.ts'
import type { Store } from '../store/store.ts'

/** Stores what an operator changed, for the log of the service: a command has no log of its own. */
export async function noteAct(
  { accounts }: Pick<Store, 'accounts'>,
  act: Pick<OperatorAct, 'event' | 'email' | 'account' | 'facts'>,
): Promise<void> {
  // The change itself is done: it does not fail because the act cannot be stored.
  await accounts.operatorActAdd({ ...act, by: operatorName(process.env), atUs: nowUs() }).catch(() => {})
}

/** Returns the system user who runs this command, also behind sudo. */
function operatorName(env: Record<string, string | undefined>): string {
  if (env.SUDO_USER !== undefined) return env.SUDO_USER
  try {
    const { username } = userInfo()
    if (username !== '' && username !== 'unknown') return username
  } catch {
    // The user has no entry in the system's list, as in many containers.
  }
  return `user ${process.getuid?.() ?? 'unknown'}`
}
