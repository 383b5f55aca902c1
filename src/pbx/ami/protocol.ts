import { type NowUs, SECOND } from '../../lib/time.ts'
import type { Dialect, Protocol, Received, Wire } from '../connection/protocol.ts'
import { addressOf } from '../connection/socket.ts'
import type { Timeouts } from '../connection/timeouts.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { createActions, ping } from './actions.ts'
import { AmiDecoder } from './decoder.ts'
import { CUSTOM_EVENT, isSheddable, isStateEvent, isWanted, variablesOf } from './events.ts'
import type { AmiFrame } from './frame.ts'
import { requestInventory } from './inventory.ts'
import { logIn } from './login.ts'
import { requestStart, runOf } from './restart-detection.ts'
import { createSnapshotRequest } from './snapshot-request.ts'
import { requestStates } from './state-lists.ts'
import { createAmiStates } from './states.ts'
import { readUserEvent } from './user-event.ts'

const REPLY: Received = { kind: 'reply' }
const UNWANTED: Received = { kind: 'unwanted' }
const EVENT: Received = { kind: 'event' }
const STATE: Received = { kind: 'state' }
/** Events about the Asterisk itself. */
const NOTICES: ReadonlyMap<string, Received> = new Map([
  ['Shutdown', { kind: 'shutdown' }],
  ['Reload', { kind: 'reload' }],
])

/** Returns the protocol of an Asterisk. */
export const amiDialect = (source: PbxSource, timeouts: Timeouts, nowUs: NowUs): Dialect<AmiFrame> => ({
  address: addressOf(source),
  open: (wire) => openProtocol(source, { wire, timeouts, nowUs }),
})

type Options = { readonly wire: Wire; readonly timeouts: Timeouts; readonly nowUs: NowUs }

function openProtocol(source: PbxSource, { wire, timeouts, nowUs }: Options): Protocol<AmiFrame> {
  const { replyMs, listMs } = timeouts
  const actions = createActions(wire.write, { replyMs, listMs, isBehind: wire.isBehind })
  const variables = variablesOf(source)
  const states = createAmiStates()
  let startedUs: number | null = null
  let isFirstEvent = true

  const decoder = new AmiDecoder({
    skip: (name, peek) => !isWanted(name, peek, variables, source.custom !== undefined),
    idPrefix: actions.idPrefix,
  })
  return {
    decoder,
    receive(frame, arrivedUs) {
      if (actions.receive(frame)) return REPLY
      if (frame.tainted || isForgedCustom(frame)) return { kind: 'tainted', event: frame.name }
      if (frame.type !== 'event' || !frame.has('Privilege')) return UNWANTED
      // Only the first event after the login counts: a later one is of no use, or a caller wrote it.
      if (isFirstEvent && frame.name === 'FullyBooted') startedUs = startOf(frame, arrivedUs)
      isFirstEvent = false
      return NOTICES.get(frame.name) ?? (isStateEvent(frame.name) ? STATE : EVENT)
    },
    logIn: () => logIn(source, actions, () => decoder.greeting),
    async identifyRun(last) {
      const start = await requestStart(actions, timeouts.identifyMs)
      return runOf(last, { start, startedUs })
    },
    requestSnapshot: createSnapshotRequest(actions, nowUs, source.tenants?.variable),
    requestInventory: () => requestInventory(source, actions),
    statesOf: states.signals,
    requestStates: (feed) => requestStates({ source, actions, states, nowUs, feed }),
    isSheddable: (frame) => isSheddable(frame.name),
    idleMs: timeouts.idleMs,
    probe: () => ping(actions),
    silence: `${source.host} is silent: two pings were not answered`,
    snapshotRight: 'give its user write = reporting in manager.conf',
    close: actions.close,
  }
}

const isForgedCustom = (frame: AmiFrame): boolean =>
  frame.type === 'event' && frame.name === CUSTOM_EVENT && readUserEvent(frame) === undefined

function startOf(frame: AmiFrame, arrivedUs: number): number | null {
  const uptime = frame.get('Uptime')
  return /^\d{1,9}$/.test(uptime) ? arrivedUs - Number(uptime) * SECOND : null
}
