import { harmless } from '../lib/terminal-text.ts'

/**
 * The operator of the machine: a user of the system who may open the control socket, or who runs a command in process.
 * The operator's requests need no token, and have the rights of an administrator.
 */
export type Operators = {
  /** Marks a request as the operator's. Nothing that a client sends does that. */
  admit(request: Request): void
  /** Returns the operator's name for the audit trail; `undefined` for somebody else's request. */
  nameOf(request: Request): string | undefined
}

/** Names the system user of a command, percent-encoded. A client of the socket can write any name into it. */
export const OPERATOR_HEADER = 'x-hookswitch-operator'
const MAX_NAME_CHARACTERS = 64

/** Creates the marks of the operator's requests. */
export function createOperators(): Operators {
  const admitted = new WeakSet<Request>()
  return {
    admit: (request) => void admitted.add(request),
    nameOf(request) {
      if (!admitted.has(request)) return undefined
      const name = harmless(decoded(request.headers.get(OPERATOR_HEADER) ?? '')).slice(0, MAX_NAME_CHARACTERS)
      return name === '' ? 'command line' : `command line (${name})`
    },
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
