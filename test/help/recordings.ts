import { NOT_SAVED, type RecordingRecord } from '../../src/store/operations/recordings.ts'

type Given = Partial<RecordingRecord> & Pick<RecordingRecord, 'sinceUs'>

/** Returns the row of a recording of a saved call whose file is awaited. */
export const pendingRecording = (id: string, given: Given): RecordingRecord => ({
  callId: 'call',
  id,
  accountId: 1,
  pbx: 'office',
  path: `/monitor/${id}.wav`,
  state: 'pending',
  sequence: 7,
  ...NOT_SAVED,
  ...given,
})

/** Returns the row of a recording that is saved. */
export const savedRecording = (id: string, given: Given): RecordingRecord =>
  pendingRecording(id, { state: 'saved', sizeBytes: 5, stamp: 's', mediaType: 'audio/wav', ...given })
