import type { Node } from '../web/web.ts'
import { counted } from './print.ts'

const PBX_CONDITIONS = { up: 'connected', connecting: 'connecting', down: 'not connected', refused: 'refused' } as const

/** A smaller difference between clocks is normal. */
const CLOCK_TOLERATED_MS = 1_000

/** Returns a node as a line that is no wider than this, with as many of its PBXs as have room; at least one. */
export function nodeLine(node: Node, width: number): string {
  const all = lineWith(node, node.pbx_states.length)
  if (all.length <= width) return all
  let count = 0
  while (count + 1 < node.pbx_states.length && lineWith(node, count + 1).length <= width) count += 1
  const line = lineWith(node, Math.max(1, count))
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}

/** Returns the line that names the presets that a node lacks and another one has; `undefined` if it lacks none. */
export function lackingPresetsLine({ address, lacking_presets: names }: Node): string | undefined {
  if (names.length === 0) return undefined
  const [what, it] = names.length === 1 ? ['preset', 'it'] : ['presets', 'them']
  return `${address} lacks the ${what} ${names.join(', ')}: nodes that have ${it} send for the accounts that use ${it}`
}

function lineWith(
  {
    address,
    version,
    state,
    since,
    last_heard_of: heard,
    clock_ahead_ms: aheadMs,
    account_count: accountCount,
    pbx_states: pbxs,
    maintenance,
  }: Node,
  count: number,
): string {
  const more = pbxs.length > count ? ` and ${pbxs.length - count} more (--json lists them)` : ''
  const isClockWrong = aheadMs !== null && Math.abs(aheadMs) > CLOCK_TOLERATED_MS
  const clock = isClockWrong
    ? `  clock ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database`
    : ''
  const owned = [
    counted(accountCount, 'account'),
    pbxs.length === 0 ? 'no PBX' : `PBX ${pbxs.slice(0, count).map(pbxText).join(', ')}${more}`,
    ...(maintenance ? ['maintenance'] : []),
  ]
  const condition = state === 'up' ? `up since ${since}` : `${state}, last heartbeat ${heard}`
  return `${address}  ${version}  ${condition}${clock}  ${state === 'dead' ? 'owns nothing' : `owns ${owned.join(', ')}`}`
}

/** Returns a PBX as it is listed: `office (connected)`, `lab (not connected: connection refused)`. */
function pbxText({ name, state, error }: Node['pbx_states'][number]): string {
  return `${name} (${PBX_CONDITIONS[state]}${error === null || state === 'up' ? '' : `: ${error}`})`
}
