import type { NewReplay } from '../../deliveries/deliveries.ts'
import { STEP_EVENTS } from '../../flows/flows.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { momentOf } from '../moment.ts'
import { counted, print, printError, printJson } from '../print.ts'
import { type AccountFlags, onAccount } from '../webhook-account.ts'

type ReplayFlags = AccountFlags & { since: string; until?: string; events: string[]; again?: boolean }

/** Sends the past events of a time to a URL, and prints how many. */
export async function replayEvents(url: string, flags: ReplayFlags): Promise<void> {
  const { since, until, events, again = false, json } = flags
  const request = {
    url,
    since: momentOf('--since', since),
    again,
    ...(until === undefined ? {} : { until: momentOf('--until', until) }),
    ...(events.length === 0 ? {} : { events: events.map(kindOf) }),
  }
  const { queued, isRunning } = await onAccount(flags, async (account) => {
    const { result } = await account.ask<{ queued: number }>('POST', '/integration/webhook/replay', { body: request })
    return { queued: result.queued, isRunning: account.isRunning }
  })
  if (json) return printJson({ queued })
  if (queued === 0) return print('No event of this time is to be sent: all were delivered, or are pending.')
  print(`${counted(queued, 'event')} will be sent, those of new calls first.`)
  if (!isRunning) printError('No service is running on this store, so nothing is sent yet: hookswitch serve starts it.')
}

function kindOf(name: string): NonNullable<NewReplay['events']>[number] {
  const known = STEP_EVENTS.find((one) => one === name)
  if (known === undefined) throw wrongUsage(`--events: ${name} is no call event: choose of ${STEP_EVENTS.join(', ')}`)
  return known
}
