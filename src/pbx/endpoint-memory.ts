import type { Log } from '../lib/log.ts'
import type { PbxSource } from '../lib/pbx-url.ts'
import type { CallStore } from '../store/store.ts'
import type { Run } from './connection/timeouts.ts'
import { SETTING } from './endpoint-summary.ts'
import { createEndpoints, type EndpointMemory, type Endpoints } from './endpoints.ts'

/** What a process knows of a PBX from the one before it: its endpoints, and its last run. */
export type Memory = {
  readonly endpoints: Endpoints
  lastRun(): Run | null
  setRun(run: Run): void
  /** Stores what changed since it was stored last. */
  stop(): Promise<void>
}

type Stored = { readonly run: Run | null; readonly endpoints: EndpointMemory }

/** Calls teach something new for a while, and then hardly ever. */
const SAVE_EVERY_MS = 5_000

/** Reads what is known of a PBX, and keeps it from then on. What cannot be read is learnt anew. */
export async function startMemory(store: CallStore, source: PbxSource, log: Log): Promise<Memory> {
  const stored = readStored(await store.pbxMemoryGet(source.name), source, log)
  const endpoints = createEndpoints(source, stored?.endpoints)
  let run = stored?.run ?? null
  let saved = { run, version: endpoints.version() }
  let saving: Promise<void> | undefined

  async function save(): Promise<void> {
    const now = { run, version: endpoints.version() }
    if (now.run === saved.run && now.version === saved.version) return
    const memory: Stored = { run, endpoints: endpoints.memory() }
    try {
      await store.pbxMemorySet(source.name, JSON.stringify(memory))
      saved = now
    } catch (error) {
      log.warn({ pbx: source.name, err: error }, 'what is known of the PBX could not be stored: it is tried again')
    }
  }
  const named = new Set<string>()
  /** Each endpoint once: whoever runs the PBX decides. */
  function nameUndecided(): void {
    for (const endpoint of endpoints.undecidedCallers()) {
      if (named.has(endpoint)) continue
      named.add(endpoint)
      log.warn(
        { pbx: source.name, endpoint },
        `nothing tells whether this endpoint is a phone or a trunk, and its calls are taken for calls from outside: ${SETTING}`,
      )
    }
  }
  const turn = (): void => {
    nameUndecided()
    saving ??= save().finally(() => {
      saving = undefined
    })
  }
  const timer = setInterval(turn, SAVE_EVERY_MS)
  return {
    endpoints,
    lastRun: () => run,
    setRun(now) {
      run = now
    },
    async stop() {
      clearInterval(timer)
      await saving
      await save()
    },
  }
}

/** A memory that ends with the process. */
export function newMemory(source: PbxSource): Memory {
  let run: Run | null = null
  return {
    endpoints: createEndpoints(source),
    lastRun: () => run,
    setRun(now) {
      run = now
    },
    async stop() {},
  }
}

function readStored(json: string | undefined, source: PbxSource, log: Log): Stored | undefined {
  if (json === undefined) return undefined
  try {
    const stored: Stored = JSON.parse(json)
    if (typeof stored.endpoints.seen !== 'object' || stored.endpoints.seen === null)
      throw new Error('it holds no endpoints')
    return stored
  } catch (error) {
    log.warn({ pbx: source.name, err: error }, 'what was known of the PBX cannot be read: it is learnt anew')
    return undefined
  }
}
