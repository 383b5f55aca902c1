import type { ChannelSignal } from '../../calls/signal.ts'
import { cleanText } from '../text.ts'
import { resultOfCause } from './causes.ts'
import { type EslContext, userOf } from './context.ts'
import type { EslEvent } from './event.ts'

/** mod_callcenter and mod_fifo: callers in queues, and agents that are offered them. */

/** `CC-Member-Session-UUID` is the caller's leg (`CC-Member-UUID` is none). */
export function callcenter(context: EslContext, event: EslEvent): ChannelSignal[] {
  const id = event.get('CC-Member-Session-UUID')
  const agent = event.get('CC-Agent')
  const queue = cleanText(event.get('CC-Queue'))
  if (id === '') return []
  switch (event.get('CC-Action')) {
    case 'member-queue-start':
      return [{ kind: 'queue_joined', id, queue: queue ?? '', position: null }]
    case 'member-queue-end':
      return [{ kind: 'queue_left', id, queue, result: leaving(event) }]
    case 'agent-offering':
      context.offers.set(`${id} ${agent}`, agent)
      return []
    case 'bridge-agent-fail':
      return unreachedAgent(context, event, id, agent)
    default:
      return []
  }
}

function leaving(event: EslEvent): 'abandoned' | 'timeout' | 'other' | null {
  if (event.get('CC-Cause') !== 'Cancel') return null
  switch (event.get('CC-Cancel-Reason')) {
    case 'TIMEOUT':
    case 'NO_AGENT_TIMEOUT':
      return 'timeout'
    case 'EXIT_WITH_KEY':
      return 'other'
    default:
      return 'abandoned'
  }
}

/** An agent whose phone could not be reached has no leg: only the queue tells of it. */
function unreachedAgent(context: EslContext, event: EslEvent, source: string, agent: string): ChannelSignal[] {
  if (!context.offers.delete(`${source} ${agent}`)) return []
  const cause = event.get('CC-Hangup-Cause')
  return [
    {
      kind: 'dial_failed',
      source,
      endpoint: context.endpoints.named(userOf(agent), null),
      result: resultOfCause(cause),
    },
  ]
}

export function fifo(event: EslEvent): ChannelSignal[] {
  const id = event.get('Unique-ID')
  const queue = cleanText(event.get('FIFO-Name'))
  if (id === '' || queue === null) return []
  switch (event.get('FIFO-Action')) {
    case 'push':
      return [{ kind: 'queue_joined', id, queue, position: null }]
    case 'abort':
      return [{ kind: 'queue_left', id, queue, result: 'abandoned' }]
    case 'timeout':
      return [{ kind: 'queue_left', id, queue, result: 'timeout' }]
    default:
      return []
  }
}
