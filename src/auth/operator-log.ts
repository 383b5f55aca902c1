import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import type { Audit } from './audit.ts'

export type OperatorLogOptions = {
  readonly accounts: Pick<Store['accounts'], 'operatorActTake'>
  readonly audit: Pick<Audit, 'noteOperator'>
  readonly log: Log
}

/** Logs what operators did to users with the command line, which is another process and has no log that is kept. */
export function createOperatorLog({ accounts, audit, log }: OperatorLogOptions): { look(): void } {
  return {
    look() {
      accounts
        .operatorActTake()
        .then((acts) => acts.forEach(audit.noteOperator))
        // They stay in the store, and are logged after the next change.
        .catch((error) =>
          log.warn({ err: error }, 'what operators changed of users cannot be read: it is logged later'),
        )
    },
  }
}
