import { fstatSync } from 'node:fs'

/**
 * Whether what is written to a file descriptor goes to systemd's journal. The variable is inherited by what a unit starts, also where
 * the output goes elsewhere: so it names the very stream.
 */
export function isJournal(fd: number, journalStream = process.env.JOURNAL_STREAM): boolean {
  if (journalStream === undefined) return false
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true })
    return journalStream === `${dev}:${ino}`
  } catch {
    return false
  }
}
