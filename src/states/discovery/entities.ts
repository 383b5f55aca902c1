import { createHash } from 'node:crypto'
import { DEVICE_STATES, PHONE_STATES, type Phone, type Queue, type Trunk } from '../../events/states.ts'
import { VERSION } from '../../lib/version.ts'
import { topicLevel } from '../../outbound/mqtt-url.ts'

// The entities of an account's phones, trunks and queues in Home Assistant: retained messages by their topics (MQTT
// discovery of Home Assistant, home-assistant.io/integrations/mqtt). Pure.

/** The messages of an account at a broker. */
export type Place = {
  readonly account: string
  /** The level of the topics of this account's configurations: letters, digits, `_` and `-`. */
  readonly node: string
  /** The topics of the states begin with this. */
  readonly root: string
}

/** A PBX with its states, as its account sees them. */
export type PbxEntities = {
  readonly pbx: string
  readonly isConnected: boolean
  readonly phones: readonly Phone[]
  readonly trunks: readonly Trunk[]
  readonly queues: readonly Queue[]
}

/** Home Assistant reads the configurations of all programs below this level. */
const PREFIX = 'homeassistant'
const ONLINE = 'online'
export const OFFLINE = 'offline'

/** Returns the topic that says whether Hookswitch is connected to the broker. */
export const statusTopic = ({ root, account }: Place): string => `${root}/${topicLevel(account)}/status`

/** Returns the topics of all messages of an account, to be asked for. */
export const topicsOf = (place: Place): string[] => [
  `${PREFIX}/+/${place.node}/+/config`,
  `${place.root}/${topicLevel(place.account)}/#`,
]

/** Returns all messages of an account, each by its topic. */
export function messagesOf(place: Place, pbxs: readonly PbxEntities[]): Map<string, string> {
  const messages = new Map([[statusTopic(place), ONLINE]])
  for (const { pbx, isConnected, phones, trunks, queues } of pbxs) {
    const root = `${place.root}/${topicLevel(place.account)}/${topicLevel(pbx)}`
    messages.set(`${root}/status`, isConnected ? ONLINE : OFFLINE)
    const common = {
      availability: [{ topic: statusTopic(place) }, { topic: `${root}/status` }],
      availability_mode: 'all',
      device: { identifiers: [`${place.node}_${idOf(pbx)}`], name: pbx, manufacturer: 'Hookswitch' },
      origin: { name: 'Hookswitch', sw_version: VERSION },
    }
    for (const { component, kind, subject, config, state } of [
      ...phones.map(entityOfPhone),
      ...trunks.map(entityOfTrunk),
      ...queues.map(entityOfQueue),
    ]) {
      const id = `${kind}_${idOf(pbx)}_${idOf(subject)}`
      const topic = `${root}/${kind}/${topicLevel(subject)}`
      const own = { unique_id: `${place.node}_${id}`, state_topic: topic, json_attributes_topic: topic }
      messages.set(topic, JSON.stringify(state))
      messages.set(
        `${PREFIX}/${component}/${place.node}/${id}/config`,
        JSON.stringify(Object.assign({}, config, own, common)),
      )
    }
  }
  return messages
}

/** Returns a name as a part of an id: letters, digits, `_` and `-`, and where it has others, a digest of it. */
export function idOf(name: string): string {
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_')
  return plain === name ? name : `${plain}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}

/** An entity of Home Assistant: its component, its configuration, and the state of its subject at the PBX. */
type Entity = {
  readonly component: 'sensor' | 'binary_sensor'
  readonly kind: 'phone' | 'trunk' | 'queue'
  readonly subject: string
  readonly config: Readonly<Record<string, unknown>>
  readonly state: object
}

const entityOfPhone = ({ extension, name, state, device, since, contacts }: Phone): Entity => ({
  component: 'sensor',
  kind: 'phone',
  subject: extension,
  state: { extension, name, state, device, since, contacts },
  config: {
    name: name === null || name === extension ? `Phone ${extension}` : `${name} (${extension})`,
    icon: 'mdi:phone-voip',
    device_class: 'enum',
    options: [...DEVICE_STATES, ...PHONE_STATES.filter((one) => one !== 'registered')],
    value_template: "{{ value_json.device if value_json.state == 'registered' else value_json.state }}",
  },
})

const entityOfTrunk = ({ trunk, state, since, reason }: Trunk): Entity => ({
  component: 'binary_sensor',
  kind: 'trunk',
  subject: trunk,
  state: { trunk, state, since, reason },
  config: {
    name: `Trunk ${trunk}`,
    device_class: 'connectivity',
    // Of a trunk that the PBX does not check nothing is known.
    value_template:
      "{{ {'registered': 'ON', 'reachable': 'ON', 'rejected': 'OFF', 'unreachable': 'OFF'}.get(value_json.state, 'None') }}",
  },
})

/** Without the longest wait, which changes every second. */
const entityOfQueue = ({ queue, waiting, available, busy, paused }: Queue): Entity => ({
  component: 'sensor',
  kind: 'queue',
  subject: queue,
  state: { queue, waiting, available, busy, paused },
  config: {
    name: `Queue ${queue}`,
    icon: 'mdi:account-clock',
    state_class: 'measurement',
    unit_of_measurement: 'callers',
    value_template: '{{ value_json.waiting }}',
  },
})
