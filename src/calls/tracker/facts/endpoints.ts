import type { Endpoint } from '../../signal.ts'
import type { Channel } from '../state/state.ts'

/** The endpoint of a channel: its number and name. A known number or name stays, unless the PBX gives another one. */

type Known = Pick<Endpoint, 'number' | 'name'>

/** Notes the endpoint that a dial shows; a virtual channel keeps its own. */
export function noteDialledEndpoint(dest: Channel, endpoint: Endpoint): void {
  if (endpoint.kind !== 'virtual') dest.endpoint = { ...endpoint, name: endpoint.name ?? dest.endpoint.name }
}

/** Notes the name that the PBX gives the party. */
export function nameEndpoint(channel: Channel, name: string | null): void {
  channel.endpoint = { ...channel.endpoint, name }
}

/** Notes the number and name that the PBX has learned of a party, where none was known before. */
export function learnEndpoint(channel: Channel, learned: Known): void {
  channel.endpoint = withLearned(channel.endpoint, learned)
}

/** Returns a party with the number and name that the PBX has learned of it, where none was known before. */
export const withLearned = <P extends Known>(party: P, { number, name }: Known): P => ({
  ...party,
  number: party.number ?? number,
  name: party.name ?? name,
})
