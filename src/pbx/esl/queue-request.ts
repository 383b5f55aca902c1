import type { Commands } from './commands.ts'
import type { EslFrame } from './decoder.ts'
import { requestVariable } from './leg-variables.ts'
import type { ListRow } from './list-rows.ts'

/**
 * Returns another list with the queues of mod_callcenter whose agents talk with a caller. The list of channels shows of
 * both legs only that they were bridged; of an agent's leg, which the queue rang for this caller, a variable names the
 * queue.
 */
export const requestQueues = (commands: Commands, channels: EslFrame | undefined): Promise<EslFrame | undefined> =>
  channels === undefined
    ? Promise.resolve(undefined)
    : requestVariable(commands, channels, { variable: 'cc_queue', column: 'queue', isAsked: mayServeQueue })

const mayServeQueue = ({ direction, application }: ListRow): boolean =>
  direction === 'outbound' && application === 'uuid_bridge'
