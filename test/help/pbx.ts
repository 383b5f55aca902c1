import { join } from 'node:path'
import type { AboutSnapshot, Signal } from '../../src/calls/signal.ts'
import type { AmiFrame } from '../../src/pbx/ami/decoder.ts'
import { amiDialect } from '../../src/pbx/ami/protocol.ts'
import type { PbxRun } from '../../src/pbx/connection/protocol.ts'
import { sessionsOf } from '../../src/pbx/connection/session.ts'
import { createEndpoints, type Endpoints, type SavedEndpoints } from '../../src/pbx/endpoints/endpoints.ts'
import type { EslFrame } from '../../src/pbx/esl/decoder.ts'
import { eslDialect } from '../../src/pbx/esl/protocol.ts'
import { parsePbxUrl, pbxKindOf } from '../../src/pbx/source/pbx-url.ts'
import { type Supervisor, startSupervisor } from '../../src/pbx/watch/supervisor.ts'
import type { StateSignal } from '../../src/states/signal.ts'
import { type PbxServer, startPbx } from './pbx-server.ts'

export const fixture = (name: string): string =>
  join(import.meta.dir, '../fixtures', name.endsWith('.ami') ? 'asterisk' : 'freeswitch', name)

type Entry =
  | { kind: 'event'; name: string; id: string }
  | { kind: 'list'; rows: string[] }
  | { kind: 'connected'; first: boolean; boot: string | null }
  | { kind: 'disconnected' }

type Watched = Supervisor & {
  readonly endpoints: Endpoints['list']
  readonly saved: Endpoints['saved']
  /** The signals of the connector, in order. */
  readonly entries: Entry[]
  /** For each list, the names of the events that came before it and are read after it. */
  readonly earlier: readonly (readonly string[])[]
  /** The connector's signals about phones, trunks, agents and queues. */
  readonly states: readonly StateSignal[]
  readonly logged: { level: string; fact: { reason?: string; retryInSeconds?: number }; message: string }[]
}

/** Watches a PBX by a supervisor with short timeouts, and notes its signals. */
export function watchPbx(
  url: string,
  timeouts: Parameters<typeof startSupervisor>[0]['timeouts'] = {},
  /** `failsAt`: makes the translator fail at events of this name. */
  { failsAt, saved }: { readonly failsAt?: string; readonly saved?: SavedEndpoints } = {},
): Watched {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  const entries: Entry[] = []
  const earlier: string[][] = []
  const logged: Watched['logged'] = []
  const note =
    (level: string) =>
    (fact: unknown, message?: unknown): void =>
      void logged.push({ level, fact: Object(fact), message: String(message) })
  const ami = {
    event(frame: AmiFrame): Signal[] {
      if (frame.name === failsAt) throw new RangeError('a fault of ours')
      entries.push({ kind: 'event', name: frame.name, id: frame.get('Uniqueid') })
      return []
    },
    snapshot(rows: readonly AmiFrame[], _: number, about?: AboutSnapshot<AmiFrame>): Signal[] {
      earlier.push((about?.earlier ?? []).map(({ name }) => name))
      entries.push({ kind: 'list', rows: rows.map((row) => row.get('Uniqueid')) })
      return []
    },
  }
  const esl = {
    event(frame: EslFrame): Signal[] {
      entries.push({ kind: 'event', name: frame.event?.name ?? '', id: frame.event?.get('Unique-ID') ?? '' })
      return []
    },
    snapshot(rows: readonly EslFrame[], _: number, about?: AboutSnapshot<EslFrame>): Signal[] {
      earlier.push((about?.earlier ?? []).map(({ event }) => event?.name ?? ''))
      const { rows: channels = [] }: { rows?: { uuid: string }[] } = JSON.parse(rows[0]?.body ?? '{}')
      entries.push({ kind: 'list', rows: channels.map((row) => row.uuid) })
      return []
    },
  }
  const states: StateSignal[] = []
  const endpoints = createEndpoints(parsed.pbx, saved)
  let lastRun: PbxRun | null = null
  const supervisor = startSupervisor({
    isFull: () => false,
    source: parsed.pbx,
    memory: {
      endpoints,
      lastRun: () => lastRun,
      setRun(run) {
        lastRun = run
      },
    },
    startSession:
      pbxKindOf(parsed.pbx) === 'asterisk' ? sessionsOf(amiDialect, () => ami) : sessionsOf(eslDialect, () => esl),
    feed(signals) {
      for (const signal of signals) {
        if (signal.kind === 'connected') entries.push({ kind: 'connected', first: signal.first, boot: signal.boot })
        if (signal.kind === 'disconnected') entries.push({ kind: 'disconnected' })
      }
    },
    stateFeed: (signals) => void states.push(...signals),
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
    timeouts: { inventoryMs: 20, firstMs: 10, maxMs: 20, listLagMs: 1, snapshotAgainMs: 20, resyncMs: 20, ...timeouts },
  })
  return { ...supervisor, entries, earlier, logged, states, endpoints: endpoints.list, saved: endpoints.saved }
}

/** Starts a PBX that follows a script. `answer` gets each block of lines from a client. */
export function startScripted(script: {
  greeting?: string
  answer?: (block: string, send: (text: string) => void, close: () => void) => void
}): PbxServer {
  return startPbx((client) => {
    if (script.greeting !== undefined) client.write(script.greeting)
    /** The beginning of a block whose end has not arrived. */
    let begun = ''
    return {
      data(bytes) {
        const blocks = (begun + bytes.toString('utf8')).split(/\r?\n\r?\n/)
        begun = blocks.pop() ?? ''
        for (const block of blocks.filter(Boolean)) script.answer?.(block, client.write, client.close)
      },
    }
  })
}

export const actionId = (block: string): string => /^ActionID: (.*)$/m.exec(block)?.[1]?.trim() ?? ''
export const actionName = (block: string): string => /^Action: (.*)$/m.exec(block)?.[1]?.trim() ?? ''
/** AMI frames from LF lines. */
export const ami = (text: string): string => `${text.trim().replaceAll('\n', '\r\n')}\r\n\r\n`
