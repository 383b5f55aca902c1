import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const FIXTURES = join(import.meta.dir, '..', 'fixtures')

/** A chunk of a recording, and when it came: milliseconds from its start. */
type Chunk = { bytes: Uint8Array; atMs: number }

/** Returns the path of a recording such as `asterisk/a-inbound-answered` or `freeswitch/queue`. */
export const fileOf = (name: string, folder = FIXTURES): string =>
  join(folder, `${name}.${name.startsWith('freeswitch') ? 'esl' : 'ami'}`)

/** Reads `asterisk/a-inbound-answered` or `freeswitch/queue` with its timing: byte offset first, milliseconds last on each line. */
export function readRecording(name: string, folder = FIXTURES): Chunk[] {
  const file = fileOf(name, folder)
  const bytes = readFileSync(file)
  const rows = readFileSync(file.replace(/\.\w+$/, '.timing'), 'utf8')
    .split('\n')
    .filter((line) => /^\d/.test(line))
    .map((line) => line.trim().split(/\s+/))
  return rows.flatMap((row, index) => {
    const from = Number(row[0])
    const to = Number(rows[index + 1]?.[0] ?? bytes.length)
    return to > from ? [{ bytes: bytes.subarray(from, to), atMs: Number(row.at(-1)) }] : []
  })
}

export const readExpectedFile = (name: string): string => readFileSync(join(FIXTURES, `${name}.expected`), 'utf8')
