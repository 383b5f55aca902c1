import type { Log } from '../lib/log.ts'
import { standardError } from '../lib/standard-streams.ts'

/** Ends the process with an exit code. */
export type EndProcess = (code: number) => void

/**
 * Logs an uncaught error of this program. The error ends the process: its memory may be wrong, and the next process
 * begins from the store.
 */
export function logFatalErrors(log: Log, end: EndProcess): void {
  process.on('uncaughtException', (err) => {
    try {
      const message =
        'an internal error ends hookswitch: start it again, and it continues from the store; please report the error'
      log.error({ err }, message)
      standardError().flushNow()
    } finally {
      end(1)
    }
  })
  process.on('unhandledRejection', (reason) => {
    throw reason
  })
}
