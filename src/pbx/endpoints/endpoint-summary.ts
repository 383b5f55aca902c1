import { bareName, type EndpointKind, type Reason } from './endpoint-classifier.ts'
import type { KnownEndpoint } from './endpoints.ts'

/** The advice for an endpoint that is undecided or wrongly classified. */
export const SETTING = 'name it in trunks= or extensions= of the PBX URL'

/** The reasons for a classification, for people. */
const WHY: Readonly<Record<Reason, string>> = {
  setting: 'named in the PBX URL',
  registers: 'registration with a provider, or a gateway',
  hint: 'hint',
  mailbox: 'mailbox',
  seat: 'member of a queue',
  directory: 'user of the directory',
  registration: 'registered',
  dialplan_number: 'dialled by the dialplan with a number',
  call_number: 'dialled with a number',
  login: 'logged in for a call',
  context: 'name of the context',
  dialplan_alone: 'dialled by the dialplan without a number',
  foreign_caller: 'caller with an outside number',
  many_callers: 'callers with many numbers',
  context_shared: 'other endpoints in the context',
  call_alone: 'dialled without a number',
  numeric_name: 'the name is a number',
  none: 'no evidence',
}

/** A PBX may have thousands of phones. */
const MAX_SHOWN = 100

/** Returns the endpoints of a kind in one line, grouped by reason, at most 100; `null` without endpoints. */
export function lineOf(endpoints: readonly KnownEndpoint[], kind: EndpointKind | null): string | null {
  const all = endpoints.filter((endpoint) => endpoint.kind === kind)
  if (all.length === 0) return null
  const groups = Map.groupBy(all.slice(0, MAX_SHOWN), ({ reason }) => reason)
  const text = [...groups].map(
    ([reason, some]) => `${some.map(labelOf).join(', ')}${kind === null ? '' : ` (${WHY[reason]})`}`,
  )
  const more = all.length > MAX_SHOWN ? `; and ${all.length - MAX_SHOWN} more` : ''
  return `${TITLES[kind ?? 'undecided']}: ${text.join('; ')}${more}`
}

/** Endpoints by kind, each with its reason. */
type EndpointSummary = { trunks: string[]; phones: string[]; undecided: string[] }

/** Returns the endpoints by kind, at most 100 of each. */
export function summaryOf(endpoints: readonly KnownEndpoint[]): EndpointSummary {
  const of = (kind: EndpointKind | null): string[] =>
    endpoints
      .filter((endpoint) => endpoint.kind === kind)
      .slice(0, MAX_SHOWN)
      .map((endpoint) => (kind === null ? labelOf(endpoint) : `${labelOf(endpoint)} (${WHY[endpoint.reason]})`))
  return { trunks: of('trunk'), phones: of('extension'), undecided: of(null) }
}

const TITLES = { trunk: 'trunks', extension: 'phones', undecided: 'undecided' } as const

/** `PJSIP/101 Anna Bell`, `PJSIP/anna 201 Anna Bell`. */
function labelOf({ name, number, display }: KnownEndpoint): string {
  const own = number === null || number === bareName(name) ? [] : [number]
  return [name, ...own, ...(display === null ? [] : [display])].join(' ')
}
