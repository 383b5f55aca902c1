import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import type { StateSubject } from '../lib/event-kinds.ts'

/** The states of phones, trunks, agents and queues, as clients and receivers get them. */

const closed = { additionalProperties: false } as const
const text = (description: string) => t.Union([t.String(), t.Null()], { description })
const count = (description: string) => Type.Integer({ minimum: 0, description })
const since = t.String({ format: 'date-time', description: 'When it came into this state, as far as that was seen' })

export const PHONE_STATES = ['registered', 'unregistered', 'unreachable'] as const
const DEVICE_STATES = ['idle', 'ringing', 'in_use', 'unknown'] as const
export type DeviceState = (typeof DEVICE_STATES)[number]
export const TRUNK_STATES = ['registered', 'rejected', 'unreachable', 'reachable', 'unknown'] as const
export type TrunkState = (typeof TRUNK_STATES)[number]
export const AGENT_STATES = ['available', 'busy', 'paused', 'logged_out', 'unreachable'] as const
export type AgentState = (typeof AGENT_STATES)[number]

export const Phone = t.Object(
  {
    extension: t.String({ description: 'The extension' }),
    name: text('Its display name, or `null`'),
    state: t.UnionEnum(PHONE_STATES, {
      default: undefined,
      description:
        '`registered`: it can be called. `unregistered`: it has not logged in. `unreachable`: it has, and does not answer',
    }),
    since,
    device: t.UnionEnum(DEVICE_STATES, {
      default: undefined,
      description: 'What it does: `idle`, `ringing`, `in_use`; `unknown` while it is not registered, too',
    }),
    contacts: count('How many devices are registered for it'),
  },
  closed,
)
export type Phone = typeof Phone.static

export const Trunk = t.Object(
  {
    trunk: t.String({ description: "The trunk as the PBX's configuration calls it" }),
    state: t.UnionEnum(TRUNK_STATES, {
      default: undefined,
      description:
        '`registered`: the provider accepted the registration. `rejected`: it refused it. `reachable`, `unreachable`: ' +
        'whether the provider answers. `unknown`: the PBX does not check',
    }),
    since,
    reason: text('Why, as the PBX reports it; `null` if it does not'),
  },
  closed,
)
export type Trunk = typeof Trunk.static

export const Agent = t.Object(
  {
    extension: t.String({ description: 'The extension of the agent' }),
    queue: t.String({ description: 'The name of the queue' }),
    state: t.UnionEnum(AGENT_STATES, {
      default: undefined,
      description:
        '`available`: gets calls. `busy`: rings or talks. `paused`: takes a break. `logged_out`: not in the queue. ' +
        '`unreachable`: the phone is not there',
    }),
    reason: text('The reason of a pause, or `null`'),
    since,
  },
  closed,
)
export type Agent = typeof Agent.static

export const Queue = t.Object(
  {
    queue: t.String({ description: 'The name of the queue' }),
    waiting: count('How many callers wait'),
    longest_wait: count('For how many seconds the first of them has waited; 0 if nobody waits'),
    available: count('How many agents are available'),
    busy: count('How many agents are busy'),
    paused: count('How many agents are paused'),
  },
  closed,
)
export type Queue = typeof Queue.static

/** The schema of each subject. */
export const SUBJECTS = { phone: Phone, trunk: Trunk, agent: Agent, queue: Queue } as const satisfies Readonly<
  Record<StateSubject, unknown>
>
/** The state of each subject. */
export type States = { [subject in StateSubject]: (typeof SUBJECTS)[subject]['static'] }
