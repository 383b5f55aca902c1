import type { Pbx } from '../../lib/resources.ts'

const TONE = { up: 'good', connecting: 'pending', down: 'bad', refused: 'bad' } as const

/** Shows the state of a PBX. */
export function PbxBadge({ pbx: { state } }: { pbx: Pick<Pbx, 'state'> }) {
  return <span class={`badge ${TONE[state]}`}>{state}</span>
}
