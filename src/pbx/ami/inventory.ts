import { isLoopbackHost } from '../../lib/loopback-host.ts'
import type { InventoryReply } from '../connection/inventory-refresh.ts'
import { bareName, type Configured, type Listed } from '../endpoints/endpoint-classifier.ts'
import type { Inventory } from '../endpoints/endpoints.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import type { Actions, AmiReply } from './actions.ts'
import { createDialplanReader, type DialplanReader } from './dialplan.ts'
import type { AmiFrame } from './frame.ts'

/** Reads rows of these lists, in any order, into an inventory. */
type InventoryReader = {
  row(frame: AmiFrame): void
  /** Adds a trunk that a global variable of the dialplan names. */
  trunk(endpoint: string): void
  readonly dialplan: DialplanReader
  inventory(): Inventory
}

/** The lists that a user with `write = reporting` may request, and their meaning. */
export const LISTS = [
  ['ExtensionStateList', 'the extensions, by their hints'],
  ['VoicemailUsersList', 'the mailboxes'],
  ['QueueStatus', 'the members of queues'],
  ['PJSIPShowRegistrationsOutbound', 'which trunks register with a provider'],
  ['SIPpeers', 'which phones of chan_sip log in'],
  ['IAXpeers', 'which phones of chan_iax2 log in'],
  ['DeviceStateList', 'all endpoints'],
  ['ShowDialPlan', 'which endpoints the dialplan dials, and how'],
] as const

/** If an endpoint is listed in several ways, the first of these counts. */
const RANKED: readonly Listed[] = ['hint', 'seat', 'mailbox', 'directory', 'registration']
/** Hints and device states also have these prefixes, which are no endpoints. */
const NO_ENDPOINT = /^(custom|park|queue|meetme|confbridge|calendar|presence|mwi|local|agent|xmpp|hint|stasis)/i

/** Returns a reader that has read nothing yet. */
export function createInventoryReader(): InventoryReader {
  const endpoints = new Map<string, Configured>()
  const mailboxes = new Map<string, string>()
  const dialplan = createDialplanReader()

  const note = (name: string, change: Configured): void => {
    const known = endpoints.get(name)
    const listed = RANKED.find((one) => one === known?.listed || one === change.listed)
    endpoints.set(name, { ...known, ...change, ...(listed === undefined ? {} : { listed }) })
  }
  const hint = (frame: AmiFrame): void => {
    const number = frame.get('Exten')
    if (!/^\d{1,10}$/.test(number)) return
    for (const device of devicesOf(frame.get('Hint'))) {
      const known = endpoints.get(device)?.number
      // If a phone has several hints, the one with its name is its own.
      const isOwn = known === undefined || number === bareName(device)
      note(device, { listed: 'hint', ...(isOwn ? { number } : {}) })
    }
  }
  const peer = (frame: AmiFrame): void => {
    const name = `${frame.get('Channeltype')}/${frame.get('ObjectName').split('/')[0]}`
    note(name, /^yes$/i.test(frame.get('Dynamic')) ? { listed: 'registration' } : {})
  }
  const rows: Readonly<Record<string, (frame: AmiFrame) => void>> = {
    ExtensionStatus: hint,
    VoicemailUserEntry(frame) {
      const mailbox = frame.get('VoiceMailbox')
      const name = frame.get('Fullname').slice(0, 256)
      // Mailboxes with one number in several contexts belong to different people, so the number has no name.
      mailboxes.set(mailbox, (mailboxes.get(mailbox) ?? name) === name ? name : '')
    },
    QueueMember(frame) {
      // `Local/101@from-queue/n` is a dialled number: StateInterface names its phone.
      for (const device of devicesOf(`${frame.get('StateInterface')}&${frame.get('Location')}`))
        note(device, { listed: 'seat' })
    },
    OutboundRegistrationDetail(frame) {
      note(`PJSIP/${frame.get('Endpoint') || frame.get('ObjectName')}`, { registers: true })
    },
    PeerEntry: peer,
    DeviceStateChange(frame) {
      for (const device of devicesOf(frame.get('Device'))) note(device, {})
    },
    ListDialplan: (frame) => dialplan.read(frame.get('Application'), frame.get('AppData')),
  }
  return {
    row(frame) {
      if (!frame.tainted && Object.hasOwn(rows, frame.name)) rows[frame.name]?.(frame)
    },
    trunk: (endpoint) => note(endpoint, { dialled: 'with_number' }),
    dialplan,
    inventory() {
      for (const [name, how] of dialplan.dialled())
        if (endpoints.get(name)?.dialled !== 'with_number') note(name, { dialled: how })
      return { endpoints: Object.fromEntries(endpoints), mailboxes: Object.fromEntries(mailboxes) }
    },
  }
}

/** `PJSIP/101&Custom:DND101,CustomPresence:101` is the phone PJSIP/101. */
function devicesOf(hint: string): string[] {
  return (hint.split(',')[0] ?? '')
    .split('&')
    .map((device) => device.trim())
    .filter((device) => /^\w+\/[^/${}]+$/.test(device) && !NO_ENDPOINT.test(device))
}

/** Asterisk prints the registrations' passwords: request this list only over TLS or on this machine. */
const HOLDS_PASSWORDS = 'PJSIPShowRegistrationsOutbound'

/** Requests the configuration of an Asterisk, one list after the other; rows are read as they arrive and not kept. */
export async function requestInventory(
  source: Pick<PbxSource, 'protocol' | 'host'>,
  actions: Actions,
): Promise<InventoryReply> {
  const reader = createInventoryReader()
  const denied: string[] = []
  const isPrivate = source.protocol === 'amis' || isLoopbackHost(source.host)
  for (const [name] of LISTS) {
    if (name === HOLDS_PASSWORDS && !isPrivate) continue
    const reply = await actions.list({ Action: name }, { row: reader.row })
    if (reply.kind === 'unanswered' || reply.kind === 'partial') return { inventory: undefined, denied }
    if (reply.kind === 'denied') denied.push(name)
  }
  for (const [variable, before] of reader.dialplan.globals()) {
    const value = await globalOf(actions, variable)
    if (/^\w+\/[^/]+$/.test(before + value)) reader.trunk(before + value)
  }
  if (reader.dialplan.numbered) await requestNumbered(actions, reader)
  return { inventory: reader.inventory(), denied }
}

/** FreePBX numbers its trunks from 1, with gaps where one was deleted. */
const MAX_GAP = 10
const MAX_NUMBERED = 200

async function requestNumbered(actions: Actions, reader: InventoryReader): Promise<void> {
  let gap = 0
  for (let number = 1; number <= MAX_NUMBERED && gap < MAX_GAP; number++) {
    const value = await globalOf(actions, `OUT_${number}`)
    gap = value === '' ? gap + 1 : 0
    // `SIP/carrier`; for PJSIP only the technology, with `@carrier` in a separate variable.
    const suffix = value === 'PJSIP' ? await globalOf(actions, `OUT_${number}_SUFFIX`) : ''
    const endpoint = suffix.startsWith('@') ? `${value}/${suffix.slice(1)}` : value
    if (/^\w+\/[^/]+$/.test(endpoint)) reader.trunk(endpoint)
  }
}

async function globalOf(actions: Actions, variable: string): Promise<string> {
  const reply: AmiReply = await actions.send({ Action: 'Getvar', Variable: variable })
  return reply.kind === 'reply' ? reply.frame.get('Value') : ''
}
