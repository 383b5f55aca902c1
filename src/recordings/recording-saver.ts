import { MAINTENANCE_LEASE, pbxLease } from '../cluster/cluster.ts'
import { startPeriodic } from '../lib/periodic.ts'
import { SECOND } from '../lib/time.ts'
import { FIRST_RECORDING, type RecordingPosition } from '../store/operations/recordings.ts'
import type { RecordingsPlace } from './recording-files.ts'
import { advanceSaving, type SaveOptions, type SavingProgress } from './save-recording.ts'

/**
 * Saves recordings: waits until the file of each is complete, copies it if that is wanted, and stores its state with
 * its event in one commit.
 *
 * A recording is pending from the commit of its call until it is saved, or failed after a day. After a crash its saving
 * begins again: the name of a copy is fixed, so that another try replaces the copy, and the event is in the commit that
 * ends the pending state. So each recording is saved once.
 */
type RecordingSaverOptions = Omit<SaveOptions, 'nowUs' | 'leaseOf' | 'isKnown'> & {
  /** Returns the PBXs as they are now, with removed ones whose files can still be read. */
  readonly pbxs: () => readonly RecordingsPlace[]
  readonly nowUs: SaveOptions['nowUs']
  readonly everyMs?: number
}

const EVERY_MS = 1_000
/** Files that are read at a time, of all PBXs and of one: a slow place delays its own PBX alone. */
const AT_ONCE = 32
const AT_ONCE_OF_ONE = 4
const PAGE = 200
/** How often to read which PBXs have pending recordings, although they are removed or have no place. */
const REST_EVERY_US = 10 * SECOND

/** One pass over the pending recordings of a PBX: the position, and the progress of each. */
type Lap = {
  readonly after: RecordingPosition
  readonly known: Map<string, SavingProgress>
  readonly visited: Set<string>
}

/**
 * Starts to save the recordings of the PBXs that this node owns. The node that does the maintenance also saves
 * the recordings of removed PBXs.
 */
export function startRecordingSaver(given: RecordingSaverOptions): { stop(): Promise<void> } {
  const { store, ownership, steadyUs, log, pbxs } = given
  const isWatched = (pbx: string): boolean => pbxs().some(({ name, isRemoved }) => name === pbx && isRemoved !== true)
  const options: SaveOptions = {
    store,
    files: given.files,
    copies: given.copies,
    maxBytes: given.maxBytes,
    ownership,
    steadyUs,
    nowUs: given.nowUs,
    log,
    eventOf: given.eventOf,
    onStored: given.onStored,
    leaseOf: (pbx) => (isWatched(pbx) ? pbxLease(pbx) : MAINTENANCE_LEASE),
    isKnown: (pbx) => pbxs().some(({ name, isRemoved, recordings }) => name === pbx && !(isRemoved && !recordings)),
  }
  const laps = new Map<string, Lap>()
  const rounds = new Map<string, Promise<void>>()
  const places = newPlaces(AT_ONCE)
  let rest: readonly string[] = []
  let restDueUs = Number.NEGATIVE_INFINITY

  /** Returns the PBXs whose pending recordings this node saves. */
  async function ownPbxs(): Promise<string[]> {
    if (steadyUs() >= restDueUs) {
      rest = await store.recordings.recordingListPendingPbxs()
      restDueUs = steadyUs() + REST_EVERY_US
    }
    const readable = pbxs().filter(({ recordings, isRemoved }) => recordings !== undefined && isRemoved !== true)
    const names = new Set([...readable.map(({ name }) => name), ...rest])
    return [...names].filter((pbx) =>
      isWatched(pbx) ? ownership.pbxOwnership(pbx) === 'owned' : ownership.ownsMaintenance(),
    )
  }

  /** Begins the round of each PBX whose last one is over. */
  async function round(stopped: () => boolean): Promise<void> {
    for (const pbx of await ownPbxs()) {
      if (rounds.has(pbx)) continue
      const isOver = roundOf(pbx, stopped)
        .catch((error) => log.warn({ pbx, err: error }, CANNOT_READ))
        .finally(() => rounds.delete(pbx))
      rounds.set(pbx, isOver)
    }
  }

  async function roundOf(pbx: string, stopped: () => boolean): Promise<void> {
    const page = await nextPage(pbx)
    const next = page.filter(({ progress }) => progress.dueUs <= steadyUs())[Symbol.iterator]()
    const worker = async () => {
      for (const { recording, progress } of next) {
        const release = await places.take()
        try {
          if (!stopped()) await advanceSaving(options, recording, progress)
        } finally {
          release()
        }
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE_OF_ONE }, worker))
  }

  /**
   * Returns the next page, so that every pending recording has its turn and many failing ones do not delay the others.
   */
  async function nextPage(pbx: string) {
    const lap = laps.get(pbx) ?? { after: FIRST_RECORDING, known: new Map(), visited: new Set() }
    const { after, known, visited } = lap
    const page = await store.recordings.recordingListPending({ pbx, after, limit: PAGE })
    const found = page.map((recording) => {
      const key = `${recording.callId} ${recording.id}`
      const progress = known.get(key) ?? { tries: 0, dueUs: 0 }
      known.set(key, progress)
      visited.add(key)
      return { recording, progress }
    })
    const last = page.length === PAGE ? page.at(-1) : undefined
    if (last === undefined) {
      // The lap is complete: a recording that it did not find is no longer pending.
      for (const key of known.keys()) if (!visited.has(key)) known.delete(key)
      visited.clear()
    }
    laps.set(pbx, { after: last ?? FIRST_RECORDING, known, visited })
    return found
  }

  const periodic = startPeriodic(given.everyMs ?? EVERY_MS, async (stopped) => {
    try {
      await round(stopped)
    } catch (error) {
      log.warn({ err: error }, CANNOT_READ)
    }
  })
  return {
    async stop() {
      await periodic.stop()
      await Promise.all(rounds.values())
    },
  }
}

const CANNOT_READ = 'cannot read which recordings are pending: will retry'

/** Creates a semaphore of `count` places, first come, first served. */
function newPlaces(count: number) {
  let free = count
  const waiting: (() => void)[] = []
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free += 1
    else next()
  }
  return {
    /** Resolves with the function that gives the place back. */
    async take(): Promise<() => void> {
      if (free > 0) free -= 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release
    },
  }
}
