import { logFatalErrors } from '../../src/cli/fatal-errors.ts'
import { createLog } from '../../src/lib/log.ts'

// A test's program imports this file first: its fatal errors are then logged as `serve` logs them.

logFatalErrors(createLog('info', { readable: false }), process.exit)
