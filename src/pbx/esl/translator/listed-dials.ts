import type { SnapshotChannel } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { userOf } from '../address.ts'
import type { ListRow } from '../list-rows.ts'
import { isDialledIn, isOfScript, ringsSeveral, wordsOf } from './dial-strings.ts'
import type { EslContext } from './legs.ts'

/**
 * Dials in the list of channels: the application of each leg, with its data. A leg that a `,` rings names its caller;
 * legs of `:_:` and of queues do not.
 */

type Row = Readonly<ListRow>

/** Applications that ring others for the leg that executes them. */
const DIALLING: ReadonlySet<string> = new Set(['bridge', 'callcenter', 'fifo'])

/** Returns the caller for which each leg rings that names no other leg. */
export function diallersIn(
  legs: ReadonlyMap<string, Row>,
  bridged: ReadonlyMap<string, string>,
  tenantOf: (row: Row) => string | null,
): Map<string, string> {
  const callers = Map.groupBy(
    [...legs].filter(([id, { application = '' }]) => DIALLING.has(application) && !bridged.has(id)),
    ([, row]) => shownBy(row),
  )
  const found = new Map<string, string>()
  for (const [id, row] of legs) {
    const isAlone = row.direction === 'outbound' && !bridged.has(id) && (!row.call_uuid || row.call_uuid === id)
    if (!isAlone) continue
    const mayRing = ([other, caller]: readonly [string, Row]): boolean =>
      other !== id && isOlder(caller, row) && isOfOneTenant(tenantOf(caller), tenantOf(row)) && isRungBy(row, caller)
    const caller = callers.get(shownBy(row))?.find(mayRing)
    if (caller !== undefined) found.set(id, caller[0])
  }
  return found
}

/**
 * Returns the party that consults each leg (`att_xfer`), for which it has left another one waiting. The key 0 makes it
 * a conversation of three, which the consulted leg joins by `three_way`.
 */
export function askersIn(legs: ReadonlyMap<string, Row>): Map<string, string> {
  const asking = [...legs].filter(([, { application }]) => application === 'att_xfer')
  const found = new Map<string, string>()
  for (const [id, { application, application_data: asker = '' }] of legs)
    if (application === 'three_way' && legs.has(asker)) found.set(id, asker)
  for (const [id, row] of asking.length === 0 ? [] : legs) {
    if (row.direction !== 'outbound') continue
    const mayAsk = ([other, asker]: readonly [string, Row]): boolean =>
      other !== id && asker.call_uuid === row.call_uuid && isOlder(asker, row) && isNamedIn(row, asker)
    const asker = asking.find(mayAsk)
    if (asker !== undefined) found.set(id, asker[0])
  }
  return found
}

/** The number that a leg shows: a rung leg shows the number of the caller for which it is rung. */
const shownBy = ({ cid_num = '', initial_cid_num = '' }: Row): string => cid_num || initial_cid_num

const isOlder = (caller: Row, row: Row): boolean => Number(caller.created_epoch) <= Number(row.created_epoch)

const isOfOneTenant = (one: string | null, other: string | null): boolean =>
  one === null || other === null || one === other

/** Returns whether the application of a caller may ring a leg: a queue does not name its agents. */
const isRungBy = (row: Row, caller: Row): boolean => caller.application !== 'bridge' || isNamedIn(row, caller)

/** Returns whether the application of a leg dials another one. */
function isNamedIn(row: Row, { application_data = '' }: Row): boolean {
  const [, , address = ''] = (row.name ?? '').split('/')
  const names = [userOf(row.presence_id ?? ''), row.initial_dest ?? '', row.dest ?? '', userOf(address)]
  return isDialledIn(application_data, names)
}

/** Returns the extension whose group a leg rings: several parties, or one that a script of FusionPBX rings. */
export function groupIn({ application, application_data = '', dest = '' }: Row, rings: boolean): string | undefined {
  if (!rings || application !== 'bridge' || !/^\d+$/.test(dest)) return undefined
  return ringsSeveral(application_data) || isOfScript(application_data) ? dest : undefined
}

/** Returns the words of a dial string that names all parties of the group that a leg rings. */
export function groupWords(row: Row): readonly string[] | undefined {
  const { application_data = '' } = row
  return groupIn(row, true) !== undefined && ringsSeveral(application_data) ? [...wordsOf(application_data)] : undefined
}

/** Returns the application in which a caller is. */
export function activityIn(
  { endpoints }: EslContext,
  { application, application_data = '' }: Row,
  isAlone: boolean,
): Pick<SnapshotChannel, 'activity'> {
  const [first = ''] = application_data.trim().split(/\s+/)
  const name = cleanText(first)
  if (!isAlone || name === null) return {}
  switch (application) {
    case 'callcenter':
      return activityOfQueue({ endpoints }, first)
    case 'fifo':
      return /\sin(\s|$)/.test(application_data) ? { activity: { kind: 'queue', queue: name } } : {}
    case 'conference':
      return { activity: { kind: 'conference', conference: name.split(/[@+]/)[0] ?? name } }
    case 'voicemail':
      return /^\s*(check|auth)/.test(application_data) ? {} : { activity: { kind: 'voicemail' } }
    default:
      return {}
  }
}

/** Returns the activity of a caller in a queue of mod_callcenter. */
export function activityOfQueue(
  { endpoints }: Pick<EslContext, 'endpoints'>,
  queue: string,
): Pick<SnapshotChannel, 'activity'> {
  const name = cleanText(queue)
  return name === null ? {} : { activity: { kind: 'queue', queue: name, name: endpoints.queueName(queue) } }
}
