import type { ChannelSignal } from '../../../calls/calls.ts'
import { cleanText } from '../../endpoints/sanitize.ts'
import { userOf } from '../address.ts'
import { type EslEvent, variableOf } from '../event.ts'
import { resultOfCause } from './hangup-causes.ts'
import { type EslContext, noteQueued } from './legs.ts'

/** mod_callcenter and mod_fifo: callers in queues, and agents that get offers. */

/** Reads an event of mod_callcenter. `CC-Member-Session-UUID` is the caller's leg (`CC-Member-UUID` is not). */
export function callcenter(context: EslContext, event: EslEvent): ChannelSignal[] {
  const id = event.get('CC-Member-Session-UUID')
  const agent = event.get('CC-Agent')
  const queue = cleanText(event.get('CC-Queue'))
  const entry = event.get('CC-Member-UUID') || null
  if (id === '') return []
  switch (event.get('CC-Action')) {
    case 'member-queue-start':
    // A caller who gave up and calls again gets the old place: in place of a start.
    case 'member-queue-resume':
      noteQueued(context, id, entry ?? '')
      return [
        ...sentToQueue(context, event, id),
        {
          kind: 'queue_joined',
          id,
          queue: queue ?? '',
          name: context.endpoints.queueName(event.get('CC-Queue')),
          position: null,
          entry,
        },
      ]
    case 'member-queue-end':
      return isTakenOut(context, event, id)
        ? []
        : [{ kind: 'queue_left', id, queue, result: leaving(event), final: true, entry }]
    case 'agent-offering':
      noteOffer(context, id, agent, 1)
      return []
    case 'bridge-agent-start':
      // An agent who waits in a call of its own (uuid-standby).
      return popped(context, event.get('CC-Agent-UUID'), id)
    case 'bridge-agent-end':
      return waitsAgain(context, event.get('CC-Agent-UUID'))
    case 'bridge-agent-fail':
      return unreachedAgent(context, event, id, agent)
    default:
      return []
  }
}

/** The party of an originated leg is sent to the queue: a member's leg does not show from where it is dialled. */
function sentToQueue(context: EslContext, event: EslEvent, id: string): ChannelSignal[] {
  const leg = context.legs.get(id)
  const extension = event.get('Caller-Destination-Number')
  if (leg?.originated !== true || event.get('Unique-ID') !== id || extension === '' || extension === leg.dialled)
    return []
  leg.dialled = extension
  return [{ kind: 'extension_changed', id, extension }]
}

/** Returns whether another party removes a caller from the queue: the one about to be bridged with the caller. */
function isTakenOut(context: EslContext, event: EslEvent, caller: string): boolean {
  const by = context.legs.get(bridgedBy(event))
  return by !== undefined && !by.gone && context.legs.get(caller)?.peers.includes(by.id) === false
}

/** Returns the leg that a command has bridged with an event's leg, `''` if none has. */
export const bridgedBy = (event: EslEvent): string =>
  /:uuid_br:(.+)$/.exec(variableOf(event, 'transfer_source'))?.[1] ?? ''

function leaving(event: EslEvent): 'abandoned' | 'timeout' | null {
  if (event.get('CC-Cause') !== 'Cancel') return null
  switch (event.get('CC-Cancel-Reason')) {
    case 'TIMEOUT':
    case 'NO_AGENT_TIMEOUT':
      return 'timeout'
    // The caller gave up, or left by pressing a key.
    default:
      return 'abandoned'
  }
}

/** Counts offers, and legs that were created for them; their events arrive in any order. */
export function noteOffer({ offers }: EslContext, source: string, agent: string, by: 1 | -1): void {
  const key = `${source} ${agent}`
  const count = (offers.get(key) ?? 0) + by
  if (count === 0) offers.delete(key)
  else offers.set(key, count)
}

/** Returns the signals of an agent whose phone could not be reached: it has no leg, and only the queue reports it. */
function unreachedAgent(context: EslContext, event: EslEvent, source: string, agent: string): ChannelSignal[] {
  if ((context.offers.get(`${source} ${agent}`) ?? 0) <= 0) return []
  noteOffer(context, source, agent, -1)
  const cause = event.get('CC-Hangup-Cause')
  const known = context.agents.get(agent)
  return [
    {
      kind: 'dial_failed',
      source,
      endpoint: known ?? context.endpoints.named(context.endpoints.userOfAgent(agent) ?? userOf(agent), null),
      result: resultOfCause(cause),
    },
  ]
}

/** Reads an event of mod_fifo. */
export function fifo(context: EslContext, event: EslEvent): ChannelSignal[] {
  const id = event.get('Unique-ID')
  const name = event.get('FIFO-Name')
  const queue = cleanText(name)
  if (id === '' || queue === null) return []
  switch (event.get('FIFO-Action')) {
    case 'push':
      noteQueued(context, id)
      wait(context, name, id, true)
      return [...sentToQueue(context, event, id), { kind: 'queue_joined', id, queue, position: null }]
    case 'abort':
      wait(context, name, id, false)
      return isTakenOut(context, event, id) ? [] : [{ kind: 'queue_left', id, queue, result: 'abandoned', final: true }]
    case 'timeout':
      wait(context, name, id, false)
      return [{ kind: 'queue_left', id, queue, result: 'timeout', final: true }]
    case 'caller_pop':
      wait(context, name, id, false)
      return []
    case 'bridge-consumer-stop':
      return waitsAgain(context, id)
    case 'consumer_pop':
      return popped(context, id, event.get('FIFO-Caller-UUID'))
    default:
      return []
  }
}

/** Notes that a caller waits, or no longer waits, in a queue of mod_fifo. */
function wait(context: EslContext, name: string, id: string, waits: boolean): void {
  const others = (context.waiting.get(name) ?? []).filter((one) => one !== id)
  const callers = waits ? [...others, id] : others
  if (callers.length > 0) context.waiting.set(name, callers)
  else context.waiting.delete(name)
}

/** A leg that called in to serve a queue gets a caller: it joins that call, whichever began first. */
function popped(context: EslContext, id: string, caller: string): ChannelSignal[] {
  const consumer = context.legs.get(id)
  if (consumer === undefined || caller === '' || consumer.dialler === caller || consumer.virtual) return []
  if (consumer.takesCaller === caller) return []
  consumer.takesCaller = caller
  return [{ kind: 'joined', id, into: caller }]
}

/** The leg that served a caller is still up: the next caller may follow. */
function waitsAgain(context: EslContext, id: string): ChannelSignal[] {
  const leg = context.legs.get(id)
  if (leg === undefined || leg.gone || leg.takesCaller === null) return []
  leg.takesCaller = null
  leg.peer = null
  leg.peers = []
  return [{ kind: 'waits_again', id }]
}
