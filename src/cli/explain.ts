import { basename } from 'node:path'
import type { Command } from 'commander'
import { Fault } from '../lib/fault.ts'
import { harmless, newPaint, type Paint } from '../lib/paint.ts'
import { type Explained, type Explanation, explain } from '../pbx/explain.ts'
import { type Recording, readRecording } from '../pbx/replay/recording.ts'
import { jsonOption, list } from './options.ts'
import { sentenceOf } from './sentence.ts'

type Flags = { trunks: string[]; extensions: string[]; variables: string[]; json?: boolean }

/** `hookswitch pbx explain FILE`: what a bug report needs first. */
export function explainCommand(pbx: Command): void {
  pbx
    .command('explain')
    .argument('<file>', 'a recording (.ami or .esl, see pbx record)')
    .description('play a recording through the tracker, and print each call event with the raw event that caused it')
    .option('--trunks <pattern>', 'as in the PBX URL (repeatable)', list, [])
    .option('--extensions <pattern>', 'as in the PBX URL (repeatable)', list, [])
    .option('--variables <name>', 'as in the PBX URL (repeatable)', list, [])
    .addOption(jsonOption())
    .action((file: string, { json = false, ...options }: Flags) => {
      const explanation = explain(read(file), { pbx: basename(file), ...options })
      const { frames, passedOver, tainted } = explanation
      if (tainted.length === frames && (frames > 0 || passedOver === 0))
        throw new Fault(
          'invalid',
          `${file} holds no event that a PBX sent: name a recording (.ami or .esl, see pbx record)`,
        )
      const lines = json ? explanation.explained.map(jsonOf) : report(file, explanation, newPaint())
      for (const line of lines) console.log(line)
      if (explanation.fault !== undefined)
        throw new Fault('invalid', `${file} cannot be read to its end: ${explanation.fault}`)
    })
}

function read(file: string): Recording {
  try {
    return readRecording(file)
  } catch (cause) {
    throw new Fault('invalid', `cannot read ${file}: name a recording (.ami or .esl, see pbx record)`, { cause })
  }
}

function report(file: string, explanation: Explanation, paint: Paint): string[] {
  const calls = Map.groupBy(explanation.explained, ({ event }) => event.callId)
  return [
    ...[...calls.values()].flatMap((events, index) => [
      paint('bold', `call ${index + 1}`),
      ...events.flatMap((one) => explainedLines(basename(file), one, paint)),
      '',
    ]),
    ...summary(explanation, calls.size),
  ]
}

function explainedLines(file: string, { event, atMs, cause }: Explained, paint: Paint): string[] {
  const waitedMs = Math.round(atMs - cause.atMs)
  const why = waitedMs > 0 ? `${waitedMs} ms after` : 'by'
  const raw = [cause.name, harmless(cause.channel)].filter(Boolean).join(' ')
  const time = `${(atMs / 1_000).toFixed(3).padStart(9)} s`
  return [
    `${time}  ${paint('cyan', event.name.padEnd(22))}  ${sentenceOf(event.body)}`,
    paint('dim', `${' '.repeat(37)}${why} ${raw} at ${file}:${cause.line} (byte ${cause.offset})`),
  ]
}

const jsonOf = ({ event, atMs, cause }: Explained): string =>
  JSON.stringify({
    at_ms: atMs,
    event: event.body,
    cause: { name: cause.name, channel: cause.channel, line: cause.line, offset: cause.offset, at_ms: cause.atMs },
  })

function summary({ kind, frames, passedOver, tainted, open, explained }: Explanation, calls: number): string[] {
  const pbx = kind === 'ami' ? 'Asterisk (AMI)' : 'FreeSWITCH (ESL)'
  const doubtful = tainted.slice(0, 5).map((offset) => `byte ${offset}`)
  return [
    `${pbx}: ${explained.length} events of ${calls} ${calls === 1 ? 'call' : 'calls'} from ${frames} raw events; ${passedOver} more say nothing of a call.`,
    ...(open === 0 ? [] : [`${open} of the calls ${open === 1 ? 'is' : 'are'} still up where the recording ends.`]),
    ...(tainted.length === 0
      ? []
      : [`${tainted.length} are not believed: a caller may have written into them (${doubtful.join(', ')}).`]),
  ]
}
