import { userInfo } from 'node:os'
import { nowUs } from '../lib/time.ts'
import type { OperatorAct } from '../store/records.ts'
import type { Store } from '../store/store.ts'

/** Notes for the service's log what was done to a user: the command itself has no log that is kept. */
export async function noteAct(
  { accounts }: Pick<Store, 'accounts'>,
  act: Pick<OperatorAct, 'event' | 'email' | 'account'>,
): Promise<void> {
  // What was done is done: that it cannot be noted does not undo it.
  await accounts.operatorActAdd({ ...act, by: operatorName(process.env), atUs: nowUs() }).catch(() => {})
}

/** Returns who runs this command; behind sudo, who that is. */
function operatorName(env: Record<string, string | undefined>): string {
  if (env.SUDO_USER !== undefined) return env.SUDO_USER
  try {
    return userInfo().username
  } catch {
    // A user without an entry, as in many containers.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}
