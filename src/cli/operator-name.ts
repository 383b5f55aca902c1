import { readFileSync } from 'node:fs'

/** Where the name of the operator is found. */
type Machine = {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly readUsers?: () => string
}

/** Returns the system user who runs this command, also behind sudo. */
export function operatorName({ env = process.env, readUsers = readSystemUsers }: Machine = {}): string {
  if (env.SUDO_USER) return env.SUDO_USER
  const id = process.getuid?.()
  if (id === undefined) return 'unknown'
  // $USER comes last: cron jobs and containers have none, and anybody can set it.
  const line = readUsers()
    .split('\n')
    .find((one) => one.split(':')[2] === String(id))
  const name = line?.split(':')[0]
  // Users of a directory server are not in the list.
  return name || env.USER || `system user with the id ${id}`
}

/** Returns the lines of the system's users; none where there is no such list, as in a small container. */
function readSystemUsers(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
