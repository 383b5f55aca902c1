import type { Command } from 'commander'
import type { EndProcess } from '../fatal-errors.ts'
import { auditCommand } from './audit.ts'
import { backupCommand } from './backup.ts'
import { callCommand } from './call.ts'
import { deliveryCommand } from './delivery.ts'
import { demoCommand } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { healthCommand } from './health.ts'
import { helpCommand } from './help.ts'
import { licensesCommand } from './licenses.ts'
import { listenCommand } from './listen.ts'
import { metricsCommand } from './metrics.ts'
import { nodesCommand } from './nodes.ts'
import { pbxCommand } from './pbx.ts'
import { recordingsCommand } from './recordings.ts'
import { restoreCommand } from './restore.ts'
import { serviceLine } from './service-line.ts'
import { stateCommands } from './states.ts'
import { storeCommand } from './store.ts'
import { userCommand } from './user.ts'
import { verifyCommand } from './verify.ts'
import { versionCommand } from './version.ts'
import { webhookCommand } from './webhook.ts'

/** Creates the command line with all commands. Long-running commands stop when `stopped()` resolves. */
export function commandLine(stopped: () => Promise<void>, end: EndProcess = () => {}): Command {
  const program = serviceLine(stopped, end)
  demoCommand(program, stopped)
  listenCommand(program, stopped)
  userCommand(program)
  healthCommand(program)
  pbxCommand(program, stopped)
  deliveryCommand(program)
  webhookCommand(program)
  stateCommands(program)
  nodesCommand(program)
  auditCommand(program)
  verifyCommand(program)
  backupCommand(program)
  restoreCommand(program)
  storeCommand(program)
  callCommand(program)
  recordingsCommand(program)
  doctorCommand(program)
  metricsCommand(program)
  helpCommand(program)
  licensesCommand(program)
  versionCommand(program)
  return program
}
