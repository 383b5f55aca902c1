import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { named } from '../lib/api-schema.ts'
import type { StateSubject } from './kinds.ts'

/** The states of phones, trunks, agents and queues, as clients and receivers get them. */

const closed = { additionalProperties: false } as const
const text = (description: string) => t.Union([t.String(), t.Null()], { description })
const count = (description: string) => Type.Integer({ minimum: 0, description })
const since = t.String({ format: 'date-time', description: 'When it entered this state, if that was reported' })

export const PHONE_STATES = ['registered', 'unregistered', 'unreachable'] as const
export const DEVICE_STATES = ['idle', 'ringing', 'in_use', 'unknown'] as const
export type DeviceState = (typeof DEVICE_STATES)[number]
export const TRUNK_STATES = ['registered', 'rejected', 'unreachable', 'reachable', 'unknown'] as const
export type TrunkState = (typeof TRUNK_STATES)[number]
export const AGENT_STATES = ['available', 'busy', 'paused', 'logged_out', 'unreachable'] as const
export type AgentState = (typeof AGENT_STATES)[number]

export const Phone = named(
  'Phone',
  t.Object(
    {
      extension: t.String({ description: 'The extension' }),
      name: text('Its display name, or `null`'),
      state: t.UnionEnum(PHONE_STATES, {
        default: undefined,
        description:
          '`registered`: it can be called. `unregistered`: no device is registered. `unreachable`: none of its devices answers',
      }),
      since,
      device: t.UnionEnum(DEVICE_STATES, {
        default: undefined,
        description: 'What it does: `idle`, `ringing`, `in_use`; `unknown` while it is not registered, too',
      }),
      contacts: count('The number of its registered devices'),
    },
    closed,
  ),
)
export type Phone = typeof Phone.static

export const Trunk = named(
  'Trunk',
  t.Object(
    {
      trunk: t.String({ description: 'The name of the trunk in the configuration of the PBX' }),
      state: t.UnionEnum(TRUNK_STATES, {
        default: undefined,
        description:
          '`registered`: the provider accepted the registration. `rejected`: it refused. `reachable`, `unreachable`: ' +
          'whether the provider answers. `unknown`: the PBX does not check',
      }),
      since,
      reason: text('The reason, if the PBX reports one; else `null`'),
    },
    closed,
  ),
)
export type Trunk = typeof Trunk.static

export const Agent = named(
  'Agent',
  t.Object(
    {
      extension: t.String({ description: 'The extension of the agent' }),
      queue: t.String({ description: 'The name of the queue' }),
      state: t.UnionEnum(AGENT_STATES, {
        default: undefined,
        description:
          '`available`: gets calls. `busy`: rings or talks. `paused`: takes a break. `logged_out`: not in the queue. ' +
          '`unreachable`: the phone cannot be reached',
      }),
      reason: text('The reason of a pause, or `null`'),
      since,
    },
    closed,
  ),
)
export type Agent = typeof Agent.static

export const Queue = named(
  'Queue',
  t.Object(
    {
      queue: t.String({ description: 'The name of the queue' }),
      waiting: count('The number of waiting callers'),
      longest_wait: count('Seconds that the first of them has waited; 0 if nobody waits'),
      available: count('The number of available agents'),
      busy: count('The number of busy agents'),
      paused: count('The number of paused agents'),
    },
    closed,
  ),
)
export type Queue = typeof Queue.static

/** The schema of each subject. */
export const SUBJECTS = { phone: Phone, trunk: Trunk, agent: Agent, queue: Queue } as const satisfies Readonly<
  Record<StateSubject, unknown>
>
/** The state of each subject. */
export type States = { [subject in StateSubject]: (typeof SUBJECTS)[subject]['static'] }
