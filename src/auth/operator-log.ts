import type { Log } from '../lib/log.ts'
import type { Store } from '../store/store.ts'
import type { Audit } from './audit.ts'

export type OperatorLogOptions = {
  readonly accounts: Pick<Store['accounts'], 'operatorActTake'>
  readonly audit: Pick<Audit, 'noteOperator'>
  readonly log: Log
}

/**
 * Creates the log of what operators changed: users and webhooks. The command line stores it, because it is another
 * process without a log of its own.
 */
export function createOperatorLog({ accounts, audit, log }: OperatorLogOptions): { update(): void } {
  return {
    update() {
      accounts
        .operatorActTake()
        .then((acts) => acts.forEach(audit.noteOperator))
        // They stay in the store and are logged after the next change.
        .catch((error) =>
          log.warn({ err: error }, 'cannot read the changes that operators made: they will be logged later'),
        )
    },
  }
}
