import type { Direction } from '../../events/enums.ts'
import type { Store } from '../../store/store.ts'
import type { Parameters } from '../model.ts'
import type { Preset } from '../preset.ts'

/** Settings that the CRM accepts, and calls will still fail or lack facts. */

/** The calls whose numbers are looked at. */
const MAX_CALLS = 50
/** A number as it is dialled within a country; shorter ones may be extensions or services. */
const NATIONAL = /^\d{7,15}$/

const NO_OWNERS =
  'No extension has a user of the CRM, and there is no responsible user: calls will belong to nobody. Fill in the users, or the responsible user'

/** Returns warnings about the parameters of a preset, and the numbers of an account's latest calls. */
export async function findWarnings(
  calls: Pick<Store['calls'], 'callList'>,
  accountId: number,
  { preset, parameters }: { readonly preset: Preset; readonly parameters: Parameters },
): Promise<string[]> {
  const rows = await calls.callList({ accountId, filter: {}, after: undefined, limit: MAX_CALLS })
  const numbers = numberWarning(rows.map(({ record }) => callOf(record)))
  return [...(lacksOwners(preset, parameters) ? [NO_OWNERS] : []), ...(numbers === undefined ? [] : [numbers])]
}

/** Returns whether a preset that assigns calls to users has neither users nor a default user. */
function lacksOwners(preset: Preset, parameters: Parameters): boolean {
  const maps = preset.parameters.filter(({ type }) => type === 'map').map(({ name }) => parameters[name])
  const isFilled = maps.some((map) => typeof map === 'object' && map !== null && Object.keys(map).length > 0)
  const hasResponsible = preset.parameters.some(({ name }) => name === 'responsible')
  return maps.length > 0 && hasResponsible && !isFilled && (parameters.responsible ?? '') === ''
}

type NumberedParty = { readonly number: string | null; readonly e164?: string | null }
type NumberedCall = { readonly direction: Direction; readonly from: NumberedParty; readonly to: NumberedParty }

/** This program stored the record. */
function callOf(record: string): NumberedCall {
  const { call }: { call: NumberedCall } = JSON.parse(record)
  return call
}

/** Returns a warning if no number outside the PBX has an E.164 form, though some are national numbers. */
function numberWarning(calls: readonly NumberedCall[]): string | undefined {
  const outside = calls.flatMap(({ direction, from, to }) =>
    direction === 'internal' ? [] : [direction === 'outbound' ? to : from],
  )
  const national = outside.find(({ number, e164 }) => e164 == null && NATIONAL.test(number ?? ''))
  if (national === undefined || outside.some(({ e164 }) => e164 != null)) return undefined
  return `The latest calls have national numbers such as ${national.number}, by which a CRM may not find its contacts: give the PBX its country, on the page or as country=DE in its URL`
}
