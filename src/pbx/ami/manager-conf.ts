/** The lines that give an Asterisk user its permissions, in its section of manager.conf. */
export const READ_LINE = 'read = system,call,agent,dialplan,cdr,user'
export const WRITE_LINE = 'write = reporting'

export const CALLS_LINE = 'write = originate,call'

type ManagerUser = {
  readonly name: string
  readonly secret: string
  /** The IPv4 address from which the user logs in. */
  readonly from: string
}

/**
 * Returns the section of manager.conf for a user who can only read, and only from one address. `deny` comes with
 * `permit`, which alone restricts nothing.
 */
export const managerUserLines = (user: ManagerUser): string[] => [...sectionOf(user), READ_LINE, WRITE_LINE]

/** Returns the section of manager.conf for the user who has calls made, and reads nothing. */
export const callsUserLines = (user: ManagerUser): string[] => [...sectionOf(user), CALLS_LINE]

const sectionOf = ({ name, secret, from }: ManagerUser): string[] => [
  `[${name}]`,
  `secret = ${secret}`,
  'deny = 0.0.0.0/0.0.0.0',
  `permit = ${from}/255.255.255.255`,
]
