// Recordings of saved calls, and the key that signs links to them.

/** A recording, by the ids of its call and its own. */
export type RecordingRef = { readonly callId: string; readonly recordingId: string }

/**
 * `pending`: its file is awaited, or not copied yet. `saved`: it is complete. `failed`: it was given up. `erased`: its
 * call was erased, and its copy has to be deleted.
 */
export type RecordingState = 'pending' | 'saved' | 'failed' | 'erased'

/** A recording of a saved call, of a PBX whose files can be read. */
export type RecordingRecord = {
  readonly callId: string
  readonly id: string
  readonly accountId: number
  readonly pbx: string
  /** As the PBX reported it. */
  readonly path: string
  readonly state: RecordingState
  /** When its call was saved. */
  readonly sinceUs: number
  /** The sequence of the event that saved its call. */
  readonly sequence: number
  /** Why the last try failed. */
  readonly error: string | null
  readonly sizeBytes: number | null
  /** The stamp of the PBX's file when it was saved: a different stamp later shows that the file was written again. */
  readonly stamp: string | null
  /** The SHA-256 of the copy (hexadecimal); `null` if there is no copy. */
  readonly sha256: string | null
  readonly mediaType: string | null
  /** The name of the copy, below the place of the copies. */
  readonly copy: string | null
}

/** The facts about a file that is not saved yet. */
export const NOT_SAVED = { error: null, sizeBytes: null, stamp: null, sha256: null, mediaType: null, copy: null }

/** The place of a recording in the list of its PBX. */
export type RecordingPosition = Pick<RecordingRecord, 'sinceUs' | 'callId' | 'id'>

export const FIRST_RECORDING: RecordingPosition = { sinceUs: 0, callId: '', id: '' }

export type RecordingStore = {
  /** Returns a recording of a saved call, or `undefined`. New ones and changes come with `calls.batchStore`. */
  recordingGet(ref: RecordingRef): Promise<RecordingRecord | undefined>
  /** Returns the recordings of calls, in the order of their calls' ids and their own. */
  recordingListOfCalls(callIds: readonly string[]): Promise<RecordingRecord[]>
  /** Returns the pending recordings of a PBX behind a position, the oldest first, at most `limit`. */
  recordingListPending(query: { pbx: string; after: RecordingPosition; limit: number }): Promise<RecordingRecord[]>
  /** Returns the names of the PBXs that have pending recordings, also of removed ones, in the order of the oldest. */
  recordingListPendingPbxs(): Promise<string[]>
  /** Returns pending or failed recordings with at least one failed try, the newest first, at most `limit`. */
  recordingListTroubled(limit: number): Promise<RecordingRecord[]>
  /** Returns recordings whose call was erased, behind a position, the oldest first, at most `limit`. */
  recordingListErased(query: { after: RecordingPosition; limit: number }): Promise<RecordingRecord[]>
  /**
   * Returns the other recordings whose call was saved before a time, behind a position, the oldest first, at most
   * `limit`.
   */
  recordingListExpired(query: { beforeUs: number; after: RecordingPosition; limit: number }): Promise<RecordingRecord[]>
  /** Returns recordings that are saved and have a copy, the newest first, at most `limit`. */
  recordingListNewestCopies(limit: number): Promise<RecordingRecord[]>
  /** Returns recordings that are saved or erased and have an error, the oldest first, at most `limit`. */
  recordingListUndeleted(limit: number): Promise<RecordingRecord[]>
  /** Sets the errors of recordings, whatever their state is: arrays of one length, one at each position. */
  recordingSetErrors(errors: {
    callIds: readonly string[]
    ids: readonly string[]
    errors: readonly string[]
  }): Promise<void>
  /** Returns how many recordings are in each state. */
  recordingCount(): Promise<Record<RecordingState, number>>
  /** Marks all recordings of calls as erased. */
  recordingErase(callIds: readonly string[]): Promise<void>
  /** Forgets recordings: arrays of one length, one at each position. */
  recordingDelete(keys: { callIds: readonly string[]; ids: readonly string[] }): Promise<void>
  /** Returns the key that signs links to recordings; `undefined` before the first link. */
  linkKeyGet(): Promise<string | undefined>
  /** Stores a key if the store has none. Returns the stored one. */
  linkKeyAdd(key: string): Promise<string>
  /** Replaces the key: all links that it signed end. */
  linkKeyReplace(key: string): Promise<void>
}
