import { CALL_TIMEOUTS } from '../connection/call-order.ts'
import type { Find } from '../connection/finding.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { CALLS_LINE } from './manager-conf.ts'
import { requestCallRights } from './originate.ts'

const NEEDED = ['Originate', 'Hangup']
/** What `write = originate,call` does not include. */
const TOO_MUCH = ['Command', 'UpdateConfig', 'GetConfig', 'ModuleLoad', 'DBPut', 'CreateConfig']

/** Reports whether the user of `calls=` may have calls made, and what it may do beyond. */
export async function checkCalls(source: PbxSource, find: Find): Promise<void> {
  if (source.calls === undefined) return
  const { user } = source.calls
  const found = await requestCallRights(source, CALL_TIMEOUTS)
  if (found.kind !== 'rights') {
    const reason = found.kind === 'made' ? '' : found.reason
    return find('missing', `calls cannot be made: ${reason}: check the section [${user}] of manager.conf`, CALLS_LINE)
  }
  if (!NEEDED.every((name) => found.actions.has(name)))
    return find('missing', `calls cannot be made: the user ${user} lacks a right: ${CALLS_LINE}`, CALLS_LINE)
  find('ok', `calls can be made, by the user ${user}`)
  const excess = TOO_MUCH.filter((name) => found.actions.has(name))
  if (excess.length > 0)
    find('advice', `the user ${user} may do more than make calls (${excess.join(', ')})`, CALLS_LINE)
}
