import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OutcomeBatch } from '../operations/queue.ts'
import { isUnwritable } from './engine/batch.ts'
import { holderOf } from './engine/folder-lock.ts'
import { connect } from './engine/open.ts'
import {
  deleteOutcomeJournal,
  type JournalEntry,
  journalPath,
  type OutcomeJournal,
  openOutcomeJournal,
  readOutcomeJournal,
} from './engine/outcome-journal.ts'
import { bytesOf, checksumOf, JOURNAL_WORD, newOutcomeBytes } from './outcome-bytes.ts'
import { applyKeptOutcomes } from './outcomes.ts'

const FORMAT = { journalWord: JOURNAL_WORD, checksumOf }

/** The outcomes of this process that are not in the store yet. */
export type KeptOutcomes = {
  /** Whether outcomes survive the end of this process, as long as there is room for them. */
  readonly areKept: boolean
  /** Keeps the last outcome of a batch. Returns whether it survives the end of this process. */
  keep(batch: OutcomeBatch): boolean
  /** Records a batch with `commit`; the kept outcomes of the batch are not needed after it. */
  record(batch: OutcomeBatch, commit: (bytes: Uint8Array) => Promise<number[]>): Promise<number[]>
  stop(): void
}

type OfBatch = { readonly bytes: ReturnType<typeof newOutcomeBytes>; readonly kept: JournalEntry[] }

/** Creates the kept outcomes of a process; without a journal none survives its end. */
export function createKeptOutcomes(journal: OutcomeJournal | undefined): KeptOutcomes {
  const batches = new WeakMap<OutcomeBatch, OfBatch>()
  return {
    areKept: journal !== undefined,
    keep(batch) {
      if (journal === undefined) return false
      const known = batches.get(batch)
      const { bytes, kept } = known ?? { bytes: newOutcomeBytes(), kept: [] }
      if (known === undefined) batches.set(batch, { bytes, kept })
      const at = bytes.add(batch, batch.deliveryIds.length - 1)
      const one = journal.keep(bytes.words, at)
      if (one !== undefined) kept.push(one)
      return one !== undefined
    },
    async record(batch, commit) {
      const known = batches.get(batch)
      const isWhole = known !== undefined && known.bytes.count === batch.deliveryIds.length
      const superseded = await commit(isWhole ? known.bytes.take() : bytesOf(batch))
      if (known !== undefined) journal?.applied(known.kept)
      return superseded
    },
    stop: () => journal?.stop(),
  }
}

/** Reads the key of a store, which its copies and backups share. */
function keyOf(path: string): string {
  const reader = connect(path, 'reader')
  try {
    return reader.query<{ key: string }, []>('SELECT key FROM public_ids').get()?.key ?? ''
  } finally {
    reader.close()
  }
}

/**
 * Opens the journal of a service that has locked the folder of its store, after storing the outcomes that the previous
 * service left in it.
 */
export function openKeptOutcomes(path: string): KeptOutcomes {
  const key = keyOf(path)
  // While the store cannot be written they stay in the file, for the next start.
  if (!applyAll(path, key)) return createKeptOutcomes(undefined)
  return createKeptOutcomes(openOutcomeJournal(path, key, FORMAT))
}

/**
 * Puts the outcomes that a killed service has left into its store. Does nothing while a service uses the store, unless
 * the caller has locked its folder.
 */
export function recoverKeptOutcomes(path: string, { isLocked = false } = {}): void {
  if (!existsSync(journalPath(path))) return
  const key = keyOf(path)
  if (readOutcomeJournal(path, key, FORMAT).length === 0) return
  if (isLocked || holderOf(join(dirname(path), 'lock')) === undefined) applyAll(path, key)
}

/** Stores the outcomes of the journal. Returns false if the store cannot be written now. */
function applyAll(path: string, key: string): boolean {
  const records = readOutcomeJournal(path, key, FORMAT)
  const writer = records.length === 0 ? undefined : connect(path, 'writer')
  try {
    writer?.transaction(() => applyKeptOutcomes(writer, records)).immediate()
    deleteOutcomeJournal(path)
    return true
  } catch (error) {
    if (isUnwritable(error)) return false
    throw error
  } finally {
    writer?.close()
  }
}
