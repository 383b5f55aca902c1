import { logFatalErrors } from '../../src/cli/commands/serve.ts'
import { createLog } from '../../src/lib/log.ts'

// The first import of a program of a test: its fatal errors are logged as those of `serve`.

logFatalErrors(createLog('info', { readable: false }), process.exit)
