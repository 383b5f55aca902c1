import { isLoopbackHost } from '../../lib/loopback-host.ts'
import type { NowUs } from '../../lib/time.ts'
import type { ContactFact, DeviceFact, StateList, StateSignal } from '../../states/states.ts'
import { bareName } from '../endpoints/endpoint-classifier.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Actions } from './actions.ts'
import { type AmiStates, contactFactOf, contactKeyOf } from './states.ts'

type ListRequest = {
  readonly source: Pick<PbxSource, 'protocol' | 'host' | 'tenants'>
  readonly actions: Actions
  readonly states: AmiStates
  readonly nowUs: NowUs
  readonly feed: (signals: readonly StateSignal[]) => void
}

/** Requests at a time: Asterisk processes events between two actions. */
const AT_ONCE = 50

/** Requests the present states of phones, trunks, agents and queues; each row is fed as it arrives. */
export async function requestStates(request: ListRequest): Promise<void> {
  const { source, nowUs, feed } = request
  const devices = new Map<string, DeviceFact>()
  await requestList(request, 'devices', ['DeviceStateList'], (signal) => {
    if (signal.kind === 'device') devices.set(signal.endpoint, signal.device)
  })
  feed([{ kind: 'list_began', list: 'contacts', atUs: nowUs() }])
  const hasPeers = await requestRows(request, ['SIPpeers', 'IAXpeers'])
  const hasContacts = await requestContacts(request, devices)
  feed([{ kind: 'list_ended', list: 'contacts', isComplete: hasPeers && hasContacts, atUs: nowUs() }])
  // Asterisk prints the passwords of PJSIP registrations: request them only over TLS or on this machine.
  const isPrivate = source.protocol === 'amis' || isLoopbackHost(source.host)
  const registrations = ['SIPshowregistry', ...(isPrivate ? ['PJSIPShowRegistrationsOutbound'] : [])]
  await requestList(request, 'registrations', registrations, () => {}, isPrivate)
  await requestList(request, 'queues', ['QueueStatus'], () => {})
  if (source.tenants !== undefined) await requestTenants(request, [...devices.keys()])
}

/** Requests one of the lists, in one request for each kind of channel driver. */
async function requestList(
  request: ListRequest,
  list: StateList,
  actions: readonly string[],
  seen: (signal: StateSignal) => void,
  isWhole = true,
): Promise<void> {
  const { nowUs, feed } = request
  feed([{ kind: 'list_began', list, atUs: nowUs() }])
  const isComplete = await requestRows(request, actions, seen)
  feed([{ kind: 'list_ended', list, isComplete: isComplete && isWhole, atUs: nowUs() }])
}

/** Resolves with whether all lists were answered. A list that Asterisk does not have counts as empty. */
async function requestRows(
  { actions, states, nowUs, feed }: ListRequest,
  names: readonly string[],
  seen: (signal: StateSignal) => void = () => {},
): Promise<boolean> {
  let isComplete = true
  for (const name of names) {
    const reply = await actions.list(
      { Action: name },
      {
        row(frame) {
          if (frame.tainted) return
          const signals = states.signals(frame, nowUs())
          for (const signal of signals) seen(signal)
          feed(signals)
        },
      },
    )
    isComplete &&= reply.kind === 'rows' || reply.kind === 'failed' || reply.kind === 'reply'
  }
  return isComplete
}

/**
 * Requests the contacts of PJSIP endpoints one by one: the list of all contacts needs permission to change the system.
 * Resolves with whether all were answered.
 */
async function requestContacts(request: ListRequest, devices: ReadonlyMap<string, DeviceFact>): Promise<boolean> {
  const { actions, nowUs, feed } = request
  const variable = async (name: string): Promise<string | undefined> => {
    const reply = await actions.send({ Action: 'Getvar', Variable: name })
    return reply.kind === 'reply' ? reply.frame.get('Value') : undefined
  }
  const contactsOf = async (aor: string): Promise<string[] | undefined> =>
    (await variable(`PJSIP_AOR(${aor},contact)`))?.split(',').filter(Boolean)

  async function requestOf([endpoint, device]: readonly [string, DeviceFact]): Promise<boolean> {
    const name = bareName(endpoint)
    const own = await contactsOf(name)
    if (own === undefined) return false
    let contacts = own
    if (contacts.length === 0) {
      const aors = (await variable(`PJSIP_ENDPOINT(${name},aors)`)) ?? ''
      const others = aors.split(',').filter((aor) => aor !== '' && aor !== name)
      contacts = (await Promise.all(others.map(contactsOf))).flatMap((some) => some ?? [])
    }
    for (const contact of contacts) {
      // If a phone that can be called has a single contact, that one answers, or is not checked. A configured contact
      // (`@@`) may be a trunk's.
      const isOnly = contacts.length === 1 && device !== 'absent' && !contact.includes('@@')
      const state: ContactFact = isOnly
        ? 'unchecked'
        : contactFactOf((await variable(`PJSIP_CONTACT(${contact},status)`)) ?? '')
      feed([{ kind: 'contact', endpoint, contact: await keyOf(contact), state, atUs: nowUs() }])
    }
    return true
  }
  /** The name of a contact ends with a hash of its URI, in some versions. */
  async function keyOf(contact: string): Promise<string> {
    const hash = /@([0-9a-f]{32})$/.exec(contact)?.[1]
    return hash ?? contactKeyOf((await variable(`PJSIP_CONTACT(${contact},uri)`)) ?? contact)
  }
  const asked = [...devices].filter(([endpoint]) => endpoint.startsWith('PJSIP/'))
  return await forEach(asked, requestOf)
}

/** Requests the tenant values of endpoints. */
async function requestTenants({ source, actions, nowUs, feed }: ListRequest, endpoints: string[]): Promise<void> {
  const { tenants } = source
  if (tenants === undefined || tenants.by === 'domain') return
  await forEach(endpoints, async (endpoint) => {
    const [technology, name] = [endpoint.split('/')[0], bareName(endpoint)]
    const asks = technology === 'PJSIP' ? 'PJSIP_ENDPOINT' : technology === 'SIP' ? 'SIPPEER' : undefined
    if (asks === undefined) return false
    const field =
      tenants.by === 'variable' ? (technology === 'SIP' ? `chanvar[${tenants.variable}]` : 'set_var') : tenants.by
    const reply = await actions.send({ Action: 'Getvar', Variable: `${asks}(${name},${field})` })
    const value = reply.kind === 'reply' ? reply.frame.get('Value') : ''
    const tenant =
      tenants.by === 'variable' && technology === 'PJSIP' ? settingOf(value, tenants.variable ?? '') : value
    feed([{ kind: 'tenant', endpoint, tenant: tenant || null, atUs: nowUs() }])
    return true
  })
}

/** Returns the value of a variable in a list like `A=1,B=2`, `''` if it is missing. */
const settingOf = (list: string, name: string): string =>
  list
    .split(',')
    .map((one) => one.trim())
    .find((one) => one.startsWith(`${name}=`))
    ?.slice(name.length + 1) ?? ''

/** Runs a few at a time, in order. Resolves with whether all succeeded. */
async function forEach<Item>(items: readonly Item[], run: (item: Item) => Promise<boolean>): Promise<boolean> {
  let isWell = true
  let next = 0
  const work = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) isWell = (await run(item)) && isWell
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return isWell
}
