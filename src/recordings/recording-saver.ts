import { startPeriodic } from '../lib/periodic.ts'
import { nowUs as wallUs } from '../lib/time.ts'
import { FIRST_RECORDING, type RecordingPosition } from '../store/operations/recordings.ts'
import { advanceSaving, type Progress, type SaveOptions } from './save-recording.ts'

/**
 * Saves recordings: waits until the file of each is complete, copies it if that is wanted, and stores its state with
 * its event in one
 * commit.
 *
 * A recording is pending from the commit of its call on, until it is saved, or failed after a day. After a crash all
 * that was done for a
 * pending one is done again: a copy has one name, so that another try replaces it, and its event is in the commit that
 * ends the state.
 * So each recording is saved once.
 */
export type RecordingSaverOptions = Omit<SaveOptions, 'nowUs'> & {
  /** Returns the PBXs whose files can be read. */
  readonly pbxs: () => readonly string[]
  readonly nowUs?: SaveOptions['nowUs']
  readonly everyMs?: number
}

const EVERY_MS = 1_000
/** As many files are read at a time. */
const AT_ONCE = 4
const PAGE = 200

/** How far the pending recordings of a PBX were gone through, and the progress of each. */
type Lap = {
  readonly after: RecordingPosition
  readonly known: Map<string, Progress>
  readonly visited: Set<string>
}

/** Starts to save the recordings of the PBXs that this node owns. */
export function startRecordingSaver(given: RecordingSaverOptions): { stop(): Promise<void> } {
  const options = { ...given, nowUs: given.nowUs ?? wallUs }
  const { store, ownership, steadyUs, log, pbxs } = options
  const laps = new Map<string, Lap>()

  async function round(stopped: () => boolean): Promise<void> {
    const owned = pbxs().filter((pbx) => ownership.pbxOwnership(pbx) === 'owned')
    const pages = await Promise.all(owned.map(nextPage))
    const due = pages.flat().filter(({ progress }) => progress.dueUs <= steadyUs())
    const next = due[Symbol.iterator]()
    const worker = async () => {
      for (const { recording, progress } of next) if (!stopped()) await advanceSaving(options, recording, progress)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  /** All pending recordings have their turn, page by page: many that fail do not keep the others waiting. */
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
      // The lap is over: a recording that it did not find is pending no more.
      for (const key of known.keys()) if (!visited.has(key)) known.delete(key)
      visited.clear()
    }
    laps.set(pbx, { after: last ?? FIRST_RECORDING, known, visited })
    return found
  }

  return startPeriodic(options.everyMs ?? EVERY_MS, async (stopped) => {
    try {
      await round(stopped)
    } catch (error) {
      log.warn({ err: error }, 'cannot read which recordings are pending: will retry')
    }
  })
}
