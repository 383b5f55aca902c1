import { harmless } from '../../lib/terminal-text.ts'
import { CANNOT_DELETE_COPY, markOf, problemOfMark } from '../../recordings/recordings.ts'
import type { Store } from '../../store/store.ts'
import { quoted } from '../suggested-commands.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

const SHOWN = 3

/** Reports which recordings could not be saved, and why. Returns nothing while there are no recordings. */
export async function diagnoseRecordings({ recordings }: Pick<Store, 'recordings'>): Promise<Diagnosis[]> {
  const { pending, saved, failed, erased } = await recordings.recordingCount()
  if (pending + saved + failed + erased === 0) return []
  const troubled = await recordings.recordingListTroubled(SHOWN)
  const undeleted = await diagnoseUndeleted(recordings)
  if (troubled.length === 0) return [ok('recordings', `${saved} are saved, ${pending} are pending`), ...undeleted]
  const counts = advice('recordings', `${saved} are saved, ${pending} are pending, ${failed} were given up`)
  const reasons = troubled.map(({ pbx, path, error, state }) =>
    wrong(
      'recordings',
      harmless(`${path} of ${pbx} ${state === 'failed' ? 'was given up' : 'cannot be saved yet'}: ${error}`),
      "check recordings= in the PBX URL: hookswitch pbx check '…'",
    ),
  )
  return [counts, ...reasons, ...undeleted]
}

/** Reports a place of copies that belongs to another store. */
export async function diagnoseCopies(store: Store, place: string | undefined): Promise<Diagnosis[]> {
  if (place === undefined) return []
  const mark = markOf(store, place)
  const problem = await problemOfMark(mark, { mayMark: false }).catch((error) =>
    error instanceof Error ? error.message : String(error),
  )
  if (problem === undefined) return [ok('recordings', `copies are made in ${mark.place.name}`)]
  const [text = problem, ...fix] = problem.split(': ')
  return [wrong('recordings', `copies are neither made nor deleted: ${text}`, fix.join(': '))]
}

/** Copies that cannot be deleted are listed one by one: some are of calls that were erased. */
const UNDELETED_SHOWN = 20

async function diagnoseUndeleted(recordings: Store['recordings']): Promise<Diagnosis[]> {
  const found = (await recordings.recordingListUndeleted(UNDELETED_SHOWN + 1)).filter(({ error }) =>
    error?.startsWith(CANNOT_DELETE_COPY),
  )
  const diagnoses = found.slice(0, UNDELETED_SHOWN).map(({ pbx, callId, id, copy, state, error }) => {
    const of = state === 'erased' ? 'the erased call' : 'the call'
    return wrong(
      'recordings',
      harmless(`recording ${id} of ${of} ${callId} (${pbx}): ${error}`),
      copy === null ? 'check --recordings-copy' : `delete ${quoted(copy)} at the place of --recordings-copy`,
    )
  })
  if (found.length > UNDELETED_SHOWN)
    diagnoses.push(advice('recordings', 'more copies cannot be deleted', 'see the log'))
  return diagnoses
}
