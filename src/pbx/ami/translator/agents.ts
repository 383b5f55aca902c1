import type { ChannelSignal, SnapshotChannel } from '../../../calls/calls.ts'
import { endpointOf } from '../dial-string.ts'
import type { AmiFrame } from '../frame.ts'
import { type AgentPool, type AmiContext, isHelper, type KnownChannel } from './channels.ts'
import { endOf } from './hangup-causes.ts'

// Agents of app_agent_pool, who wait on the line for callers. An agent's wait is a call of its own. His part in a call
// is a channel that Asterisk does not have: it begins and ends with the conversation.

/** Returns a pool without agents. */
export const newAgentPool = (): AgentPool => ({ agents: new Map(), requests: new Set(), bridges: new Map() })

/** Notes that a party begins to wait on the line. */
export function agentLogin({ agentPool, endpoints }: AmiContext, known: KnownChannel | undefined, id: string): void {
  if (known === undefined || known.local || isHelper(known.name) || agentPool.agents.has(id)) return
  const endpoint = endpoints.caller(endpointOf(known.name).endpoint, {
    number: known.number,
    display: known.display,
    context: '',
  })
  agentPool.agents.set(id, { endpoint, service: null })
}

/** Returns the signals of a bridge that an agent or a caller of agents enters; `null` for any other channel. */
export function agentEnters({ agentPool }: AmiContext, frame: AmiFrame, id: string): ChannelSignal[] | null {
  const bridge = frame.get('BridgeUniqueid')
  const agent = agentPool.agents.get(id)
  if (agent === undefined) {
    if (agentPool.requests.has(id)) agentPool.bridges.set(bridge, id)
    return null
  }
  const caller = agentPool.bridges.get(bridge)
  if (caller === undefined || agent.service !== null) return null
  const { endpoint } = agent
  const part = `${id} in ${bridge}`
  agent.service = { part, bridge }
  return [
    { kind: 'channel', id: part, linkedId: null, endpoint, dialledNumber: null, originated: false, shown: null },
    { kind: 'dial_begin', source: caller, dest: part, endpoint, shown: null },
    { kind: 'up', id: part },
    { kind: 'dial_end', source: caller, dest: part, result: 'answered', forwardedTo: null },
    { kind: 'bridged', id: part, bridge, conference: false, holding: false },
  ]
}

/** A channel that a list shows: its application and its bridge, empty without one. */
type Listed = { readonly id: string; readonly application: string; readonly bridge: string }

/** Notes the agents who wait on the line and the channels that request one, as a list shows them. */
export function noteListedAgents(context: AmiContext, listed: readonly Listed[]): void {
  const { agentPool, channels } = context
  for (const { id, application, bridge } of listed) {
    if (application === 'AgentLogin') agentLogin(context, channels.get(id), id)
    if (application !== 'AgentRequest') continue
    agentPool.requests.add(id)
    if (bridge !== '') agentPool.bridges.set(bridge, id)
  }
}

/** Returns the part of a listed agent in the call of a caller; undefined if he waits. */
export function listedPart({ agentPool }: AmiContext, { id, bridge }: Listed): SnapshotChannel | undefined {
  const agent = agentPool.agents.get(id)
  const caller = agentPool.bridges.get(bridge)
  if (agent === undefined || caller === undefined) return undefined
  const part = `${id} in ${bridge}`
  agent.service = { part, bridge }
  return {
    id: part,
    linkedId: null,
    endpoint: agent.endpoint,
    dialledNumber: null,
    callee: true,
    source: caller,
    up: true,
    ringing: false,
    bridge,
    startedUs: null,
  }
}

/** Returns the signals of a bridge that an agent leaves, or with `bridge` null, of the end of his channel. */
export function agentLeaves({ agentPool }: AmiContext, id: string, bridge: string | null): ChannelSignal[] {
  const agent = agentPool.agents.get(id)
  if (bridge !== null && agentPool.bridges.get(bridge) === id) agentPool.bridges.delete(bridge)
  const service = agent?.service ?? null
  if (agent === undefined || service === null || (bridge !== null && bridge !== service.bridge)) return []
  agent.service = null
  return [
    { kind: 'unbridged', id: service.part, bridge: service.bridge },
    { kind: 'hangup', id: service.part, end: endOf('16') },
  ]
}

/** Forgets a channel that has ended. */
export function forgetAgent({ agentPool }: AmiContext, id: string): void {
  agentPool.agents.delete(id)
  if (!agentPool.requests.delete(id)) return
  for (const [bridge, caller] of agentPool.bridges) if (caller === id) agentPool.bridges.delete(bridge)
}

/** Returns the channel that stands for a party in the call of its conversation. */
export const partOf = ({ agentPool }: AmiContext, id: string): string => agentPool.agents.get(id)?.service?.part ?? id

/** Returns the parts of agents in calls: no list of channels has them. */
export const partsIn = ({ agentPool }: AmiContext): string[] =>
  [...agentPool.agents.values()].flatMap(({ service }) => service?.part ?? [])

/** Returns whether an id of a call is that of an agent's wait, to which Asterisk adds the callers that he serves. */
export const isWait = ({ agentPool }: AmiContext, linkedId: string, id: string): boolean =>
  linkedId !== id && agentPool.agents.has(linkedId)
