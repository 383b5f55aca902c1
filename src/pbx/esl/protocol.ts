import type { NowUs } from '../../lib/time.ts'
import type { Dialect, PbxRun, Protocol, Received, Wire } from '../connection/protocol.ts'
import { addressOf } from '../connection/socket.ts'
import type { Timeouts } from '../connection/timeouts.ts'
import type { PbxSource } from '../source/pbx-url.ts'
import { type Commands, createCommands } from './commands.ts'
import { EslDecoder, type EslFrame } from './decoder.ts'
import { COMMAND_EVENT, changesQueues, isSheddable, isStateSubclass } from './events.ts'
import { requestInventory } from './inventory-request.ts'
import { logIn } from './login.ts'
import { createQuestions } from './questions.ts'
import { createSnapshotRequest } from './snapshot-request.ts'
import { requestStates } from './state-lists.ts'
import { createEslStates } from './states.ts'

const REPLY: Received = { kind: 'reply' }
const UNWANTED: Received = { kind: 'unwanted' }
const EVENT: Received = { kind: 'event' }
const STATE: Received = { kind: 'state' }
const OUTDATED: Received = { kind: 'outdated' }
/** Events about the FreeSWITCH itself. */
const NOTICES: ReadonlyMap<string, Received> = new Map([
  ['SHUTDOWN', { kind: 'shutdown' }],
  ['RELOADXML', { kind: 'reload' }],
  ['HEARTBEAT', { kind: 'heartbeat' }],
])

/** Returns the protocol of a FreeSWITCH. */
export const eslDialect = (source: PbxSource, timeouts: Timeouts, nowUs: NowUs): Dialect<EslFrame> => ({
  address: addressOf(source),
  open: (wire) => openProtocol(source, { wire, timeouts, nowUs }),
})

type Options = { readonly wire: Wire; readonly timeouts: Timeouts; readonly nowUs: NowUs }

function openProtocol(source: PbxSource, { wire, timeouts, nowUs }: Options): Protocol<EslFrame> {
  const { write, lost, isBehind } = wire
  const commands = createCommands({ write, replyMs: timeouts.replyMs, lost, isBehind })
  const questions = createQuestions(commands, source.tenants)
  const states = createEslStates(source.gateways)
  let followsCommands: Promise<unknown> | undefined
  const requestSnapshot = createSnapshotRequest(commands, {
    nowUs,
    tenants: source.tenants,
    listsCatchUp: () => Bun.sleep(timeouts.listLagMs),
  })
  let take: (frame: EslFrame) => void = () => {}

  return {
    decoder: new EslDecoder(),
    receive(frame) {
      if (commands.receive(frame)) return REPLY
      const { event } = frame
      if (event === undefined) return endOf(frame) ?? UNWANTED
      if (event.name === COMMAND_EVENT)
        return changesQueues(event.get('API-Command'), event.get('API-Command-Argument')) ? OUTDATED : UNWANTED
      return NOTICES.get(event.name) ?? (isStateSubclass(event.subclass) ? STATE : EVENT)
    },
    logIn: () => logIn(source, commands, timeouts.connectMs + timeouts.replyMs),
    identifyRun: () => requestRun(commands),
    requestSnapshot(inbox) {
      take = (frame) => void inbox.push({ frame, arrivedUs: nowUs() }, 0)
      return requestSnapshot(inbox)
    },
    requestInventory: () => requestInventory(commands, source.gateways),
    statesOf: ({ event }, arrivedUs) => (event === undefined ? [] : states.signals(event, arrivedUs)),
    async requestStates(feed) {
      followsCommands ??= commands.send(`event json ${COMMAND_EVENT}`)
      await followsCommands
      const nameless = await requestStates({ commands, states, nowUs, feed })
      void questions.learnNames(nameless, take)
    },
    ask: questions.ask,
    forget: (frame) => frame.forget?.(),
    isSheddable(frame) {
      const isFrequent = isSheddable(frame.event?.name ?? '')
      frame.forget?.()
      return isFrequent
    },
    // FreeSWITCH sends a heartbeat every 20 seconds.
    idleMs: timeouts.heartbeatMs,
    probe: async () => false,
    silence: `${source.host} is silent: no heartbeat came`,
    snapshotRight: 'allow its user "api show"',
    close(kind) {
      questions.stop()
      commands.close()
      if (kind === 'stopped') write('exit\n\n')
    },
  }
}

/** Returns the end of the connection that a frame announces. */
function endOf({ contentType, body }: EslFrame): Received | undefined {
  if (contentType === 'text/rude-rejection')
    return { kind: 'refused', reason: 'its access list (apply-inbound-acl) refuses the address of this machine' }
  if (contentType !== 'text/disconnect-notice') return undefined
  const isShutdown = /shut ?down/i.test(body)
  return { kind: 'goodbye', isShutdown, reason: `it ended the connection: ${body.split('\n')[0] ?? ''}` }
}

async function requestRun(commands: Commands): Promise<PbxRun | null> {
  const core = await commands.send('api global_getvar core_uuid')
  const id = /^[0-9a-f-]{36}$/i.exec(core?.body.trim() ?? '')?.[0]
  return id === undefined ? null : { id, startedUs: null }
}
