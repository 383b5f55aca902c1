/** The lines that give an Asterisk user its permissions, in its section of manager.conf. */
export const READ_LINE = 'read = system,call,agent,dialplan,cdr'
export const WRITE_LINE = 'write = reporting'

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
export const managerUserLines = ({ name, secret, from }: ManagerUser): string[] => [
  `[${name}]`,
  `secret = ${secret}`,
  'deny = 0.0.0.0/0.0.0.0',
  `permit = ${from}/255.255.255.255`,
  READ_LINE,
  WRITE_LINE,
]
