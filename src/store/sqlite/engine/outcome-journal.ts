import { createHash } from 'node:crypto'
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { FILE_MODE, readStoreFile } from './data-folder.ts'

/**
 * A file beside the store that keeps outcomes until they are in the store. It is mapped into memory: a written
 * outcome survives the end of this process at once, without a call to the operating system. A power cut may lose it, as
 * it may lose outcomes in the store.
 *
 * It has a header and two halves, which are filled in turns. Invariants: a half is filled while the other half still
 * has outcomes that the store lacks. A reader skips outcomes that the store has (`applied`). A half is cleared once the
 * store has all its outcomes, so that no erased text stays in the file. The file belongs to the store whose key its
 * header has.
 *
 *   header: 0 key (32 bytes)   64, 80: lap and `applied` of each half (4 bytes each)
 */
const HEADER_BYTES = 4_096
const HALF_BYTES = 512 * 1_024
const KEY_BYTES = 32
const HALVES = [0, 1] as const
const lapWord = (half: number): number => 16 + 4 * half
const appliedWord = (half: number): number => lapWord(half) + 1
const startOf = (half: number): number => HEADER_BYTES + half * HALF_BYTES

/**
 * File systems that write a changed block to another place, or elsewhere than on this machine: writing to mapped memory
 * may fail there, which ends a process. Btrfs, ZFS, bcachefs, NFS, SMB, FUSE, 9P.
 */
const UNSUITED = new Set([0x9123683e, 0x2fc12fc1, 0xca451a4e, 0x6969, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997])

/** How records are recognized: the word that is left to the journal, and the checksum of a record. */
type RecordFormat = {
  readonly journalWord: number
  checksumOf(words: Int32Array, at: number, bytes: number): number
}

/** An outcome in the journal. */
export type JournalEntry = { readonly half: number; readonly end: number; isApplied: boolean }

export type OutcomeJournal = {
  /** Keeps the record that begins at a word. Returns `undefined` if there is no room, because commits take long. */
  keep(records: Int32Array, at: number): JournalEntry | undefined
  /** Notes that kept records are in the store. */
  applied(records: readonly JournalEntry[]): void
  /** Deletes the file if everything in it is in the store. */
  stop(): void
}

export const journalPath = (storePath: string): string => `${storePath}-outcomes`
const keyBytes = (key: string): Buffer => createHash('sha256').update(key).digest()

/** Creates the journal of a store. Returns `undefined` where the file cannot be made or mapped. */
export function openOutcomeJournal(
  storePath: string,
  key: string,
  { journalWord }: RecordFormat,
): OutcomeJournal | undefined {
  const path = journalPath(storePath)
  const mapped = mapFile(path)
  if (mapped === undefined) return undefined
  const words = new Int32Array(mapped.buffer, mapped.byteOffset, mapped.length / 4)
  mapped.set(keyBytes(key), 0)
  const written: [number, number] = [0, 0]
  const open: readonly [JournalEntry[], JournalEntry[]] = [[], []]
  let current: 0 | 1 = 0
  let lap = 1
  words[lapWord(current)] = lap

  function clear(half: 0 | 1): void {
    // The records first: what remains of a half that is being cleared begins behind them.
    mapped?.fill(0, startOf(half), startOf(half) + written[half])
    words[appliedWord(half)] = 0
    written[half] = 0
  }
  function turn(): boolean {
    const other = current === 0 ? 1 : 0
    if (open[other].length > 0) return false
    if (written[other] > 0) clear(other)
    current = other
    lap += 1
    words[lapWord(current)] = lap
    return true
  }

  return {
    keep(records, at) {
      const bytes = records[at] ?? 0
      if (bytes > HALF_BYTES) return undefined
      if (written[current] + bytes > HALF_BYTES && !turn()) return undefined
      const to = (startOf(current) + written[current]) / 4
      // Word by word: for some hundred bytes, two views of them would take longer than the copy.
      for (let word = 0; word < bytes / 4; word += 1) words[to + word] = records[at + word] ?? 0
      words[to + journalWord] = lap
      written[current] += bytes
      const kept = { half: current, end: written[current], isApplied: false }
      open[current].push(kept)
      return kept
    },
    applied(records) {
      for (const kept of records) kept.isApplied = true
      for (const half of HALVES) {
        const queue = open[half]
        const first = queue.findIndex(({ isApplied }) => !isApplied)
        const done = queue.splice(0, first < 0 ? queue.length : first)
        const last = done.at(-1)
        if (last === undefined) continue
        words[appliedWord(half)] = last.end
        if (queue.length === 0) clear(half)
      }
    },
    stop() {
      if (open[0].length === 0 && open[1].length === 0) rmSync(path, { force: true })
    },
  }
}

function mapFile(path: string): Uint8Array | undefined {
  try {
    // Written as a whole, so that its blocks are there before the disk is full.
    writeFileSync(path, Buffer.alloc(HEADER_BYTES + 2 * HALF_BYTES), { mode: FILE_MODE })
    if (UNSUITED.has(statfsSync(path).type)) throw new Error('the file system is not suited')
    return Bun.mmap(path, { shared: true })
  } catch {
    rmSync(path, { force: true })
    return undefined
  }
}

/**
 * Returns the records that a process which was killed has left in the journal of a store, in their order: they may be
 * in the store already, but nothing was done with it since. The journal of another store is ignored.
 * @throws Fault `unavailable` if something else has the name of the journal.
 */
export function readOutcomeJournal(storePath: string, key: string, format: RecordFormat): Uint8Array[] {
  const path = journalPath(storePath)
  if (!existsSync(path)) return []
  const file = readStoreFile(path)
  if (file.length < HEADER_BYTES + 2 * HALF_BYTES || !file.subarray(0, KEY_BYTES).equals(keyBytes(key))) return []
  const bytes = new Uint8Array(file)
  const words = new Int32Array(bytes.buffer)
  const lapOf = (half: number): number => words[lapWord(half)] ?? 0
  return HALVES.toSorted((one, other) => lapOf(one) - lapOf(other)).flatMap((half) => {
    const records: Uint8Array[] = []
    const end = startOf(half) + HALF_BYTES
    for (let at = startOf(half) + (words[appliedWord(half)] ?? 0); at < end; ) {
      const length = words[at / 4] ?? 0
      if (length <= 0 || length % 8 !== 0 || at + length > end) break
      // Cut off by the end of its process, or older than the rest after a power cut.
      if (words[at / 4 + format.journalWord] !== lapOf(half)) break
      if (words[at / 4 + 1] !== format.checksumOf(words, at / 4, length)) break
      records.push(bytes.slice(at, at + length))
      at += length
    }
    return records
  })
}

/** Deletes the journal of a store, after its records were applied. */
export const deleteOutcomeJournal = (storePath: string): void => rmSync(journalPath(storePath), { force: true })
