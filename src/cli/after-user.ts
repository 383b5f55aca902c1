import { dataFlag } from './options.ts'

export type AddedUser = {
  readonly email: string
  readonly account: string
  readonly dataPath: string
  /** Whether a service runs on the store. */
  readonly isServed: boolean
}

/** Returns what to do after a user was added, for whoever reads it at a terminal. */
export function afterUser({ email, account, dataPath, isServed }: AddedUser): string[] {
  const query = account === 'default' ? '?name=office' : `?name=office&account=${encodeURIComponent(account)}`
  return [
    ...(isServed
      ? [`Next: log in as ${email} at the service that runs, and add a webhook.`]
      : [
          `Next: hookswitch serve${dataFlag(dataPath)}   with the PBX in HOOKSWITCH_PBX: 'ami://user:secret@host${query}'`,
          `Then log in as ${email} at http://127.0.0.1:8080, and add a webhook.`,
        ]),
    ...(isServed && account !== 'default'
      ? [`The calls of a PBX belong to this account when its URL says account=${encodeURIComponent(account)}.`]
      : []),
  ]
}
