import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { asRecorded, asteriskEvents } from './asterisk-recording.ts'
import { CONTINUES } from './continues.ts'
import { wordsOf } from './emitted-words.ts'
import { freeswitchEvents } from './freeswitch-recording.ts'
import type { PlayerOptions } from './play.ts'

// bun play-recordings.ts OUT FOLDER…: plays all recordings of the folders, writes the words of what each emitted into a
// file in OUT, and prints when each event was emitted, as JSON.

/** Arrival times at which the events of each recording were emitted, in microseconds. */
export type Emitted = Readonly<Record<string, readonly number[]>>

const ENDINGS = { asterisk: '.ami', freeswitch: '.esl' } as const

/** Returns the recording of a second connection; a recording that is none of the project's names it in a comment. */
function continuationOf(path: string): string | undefined {
  const expected = `${path}.expected`
  const inComment = existsSync(expected)
    ? /^#\s*continues in (\S+?)[.,;:]?\s*$/m.exec(readFileSync(expected, 'utf8'))
    : null
  return inComment?.[1] ?? CONTINUES[basename(path)]
}

function playAll(out: string, folders: readonly string[]): Emitted {
  const emitted: Record<string, readonly number[]> = {}
  for (const folder of folders)
    for (const pbx of ['asterisk', 'freeswitch'] as const) {
      const own = join(folder, pbx)
      if (!existsSync(own)) continue
      const files = readdirSync(own).filter((file) => file.endsWith(ENDINGS[pbx]))
      const names = files.map((file) => file.slice(0, -ENDINGS[pbx].length)).toSorted()
      const second = new Set(names.map((name) => continuationOf(join(own, name))))
      mkdirSync(join(out, basename(folder), pbx), { recursive: true })
      for (const name of names.filter((one) => !second.has(one))) {
        const next = continuationOf(join(own, name))
        const { words, emittedUs } = play(folder, pbx, next === undefined ? [name] : [name, next])
        const path = join(basename(folder), pbx, name)
        writeFileSync(join(out, path), words)
        emitted[path] = emittedUs
      }
    }
  return emitted
}

function play(
  folder: string,
  pbx: keyof typeof ENDINGS,
  names: readonly string[],
): { words: string; emittedUs: number[] } {
  const emittedUs: number[] = []
  const onTracked: PlayerOptions['onTracked'] = ({ events }, _, { nowUs }) => {
    for (const _ of events) emittedUs.push(nowUs)
  }
  try {
    const events =
      pbx === 'asterisk'
        ? asteriskEvents(names, asRecorded, { folder, onTracked })
        : freeswitchEvents(names, { folder, onTracked })
    return { words: `${wordsOf(events).join('\n')}\n`, emittedUs }
  } catch (error) {
    return { words: `fault: ${String(error)}\n`, emittedUs: [] }
  }
}

if (import.meta.main) {
  const [out = '', ...folders] = process.argv.slice(2)
  console.log(JSON.stringify(playAll(out, folders)))
}
