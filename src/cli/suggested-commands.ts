import { SETTINGS } from '../app/settings.ts'
import type { DatabaseSource } from '../store/database-url.ts'

// Command lines that messages suggest: they can be pasted into a shell as they are.

/** The place of a store: a database, or else a folder. */
export type StorePlace = { readonly dataPath: string; readonly database?: DatabaseSource | undefined }

/**
 * Returns ` --data FOLDER`, quoted for a shell, so that a suggested command uses the same store; '' for the default
 * folder. The URL of a database is not repeated: there is a password in it.
 */
export function dataFlag({ dataPath, database }: StorePlace): string {
  if (database !== undefined) return ' --database-url …'
  return dataPath === SETTINGS.dataPath.default ? '' : ` --data ${quoted(dataPath)}`
}

/** Returns the command that checks a PBX of the store. */
export const checkPbxLine = (name: string, place: StorePlace): string =>
  `hookswitch pbx check --name ${quoted(name)}${dataFlag(place)}`

/** Returns a text as one word of a shell. */
export const quoted = (text: string): string => (/^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** Returns the command that adds a first user. */
export const addUserLine = (place: StorePlace): string =>
  `hookswitch user add --admin --email you@example.com --name You${dataFlag(place)}`

type AddedUser = {
  readonly email: string
  readonly account: string
  readonly isAdmin: boolean
  readonly place: StorePlace
  /** Whether a service is running on the store. */
  readonly isServed: boolean
}

/** Returns the instructions that follow after a user was added at a terminal. */
export function afterUser({ email, account, isAdmin, place, isServed }: AddedUser): string[] {
  const query = account === 'default' ? '' : `?account=${encodeURIComponent(account)}`
  const address = isServed ? 'to the running service' : 'at http://127.0.0.1:8080'
  const logIn = `${isServed ? 'Next:' : 'Then'} log in as ${email} ${address}`
  return [
    ...(isServed ? [] : [`Next: hookswitch serve${dataFlag(place)}`]),
    ...(isAdmin
      ? [`${logIn}: the page shows how to connect a PBX.`]
      : [
          `${logIn}, and add a webhook.`,
          `An administrator connects the PBX in the page, or: hookswitch pbx add${dataFlag(place)} 'ami://user:secret@host${query}'`,
        ]),
  ]
}

/** The commands that are still missing before the calls of a new PBX reach a receiver. */
type AfterPbx = {
  readonly place: StorePlace
  /** The number of users; `undefined`: the store did not say. */
  readonly users: number | undefined
  /** Whether a service is running on the store. */
  readonly isServed: boolean
  /** Whether systemd starts the service of a package. */
  readonly isPackaged: boolean
}

/** Returns the instructions that follow after a PBX was set up and its check found no fault. */
export function afterPbxSetup({ place, users, isServed, isPackaged }: AfterPbx): string[] {
  const start = isPackaged ? 'systemctl enable --now hookswitch' : `hookswitch serve${dataFlag(place)}`
  const steps = [
    ...(users === 0 ? [addUserLine(place)] : []),
    ...(isServed ? [] : [start]),
    'log in to the page, then call one phone from another: the page shows the call',
  ]
  const [first = '', ...others] = steps
  return [`Next: ${first}`, ...others.map((step) => `Then: ${step}`), WEBHOOK_LINE]
}
const WEBHOOK_LINE =
  'Its events go to the webhooks of its account: add one in the page, or see hookswitch webhook add --help.'

/** A machine: its name, and the environment of its process. */
type Machine = { readonly name: string; readonly env: Readonly<Record<string, string | undefined>> }

/**
 * Returns how to open a page of this machine's own address from another one, `undefined` where a browser can be on this
 * machine or the page is reachable anyway.
 */
export function remotePageLine(url: string, { name, env }: Machine): string | undefined {
  const { hostname, port } = new URL(url)
  const isLocal = /^(127\.|localhost$|\[::1\]$)/.test(hostname)
  if (!isLocal || env.DISPLAY !== undefined || env.WAYLAND_DISPLAY !== undefined) return undefined
  const forward = `ssh -L ${port}:${hostname}:${port} ${quoted(name)}`
  return `the page can be opened on this machine only: on yours run ${forward}, then open http://127.0.0.1:${port}; or see --listen and "Behind a reverse proxy" in hookswitch help deploy`
}
