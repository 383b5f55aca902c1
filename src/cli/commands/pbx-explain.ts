import { basename } from 'node:path'
import type { Command } from 'commander'
import { phraseOf } from '../../events/phrase.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless, newPaint, type Paint, printableJson } from '../../lib/terminal-text.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { type Explained, type Explanation, explain, lineOf, type PbxRecording, SETTING } from '../../pbx/pbx.ts'
import { PBX_FACTS } from '../../pbx/source/pbx-facts.ts'
import { type TenantRule, tenantsOf } from '../../pbx/source/pbx-url.ts'
import { GIVE_A_RECORDING, readGivenRecording } from '../given-recording.ts'
import { jsonOption, list } from '../options.ts'
import { counted, print } from '../print.ts'

type Flags = { trunks: string[]; extensions: string[]; variables: string[]; tenants?: string; json?: boolean }

/** Adds `hookswitch pbx explain FILE...`: the first thing that a bug report needs. */
export function explainCommand(pbx: Command): void {
  pbx
    .command('explain')
    .argument('<file...>', 'recordings (.ami or .esl, see pbx record) of one connection after the other')
    .description('print the call events of recordings, each with the PBX event that caused it')
    .option('--trunks <pattern>', 'as in the PBX URL (repeatable)', list, [])
    .option('--extensions <pattern>', 'as in the PBX URL (repeatable)', list, [])
    .option('--variables <name>', 'as in the PBX URL (repeatable)', list, [])
    .option('--tenants <rule>', 'as in the PBX URL: show to which account each call belongs, or would belong')
    .addOption(jsonOption())
    .action((paths: string[], { json = false, tenants: rule, ...patterns }: Flags) => {
      const recordings = paths.map(readGivenRecording)
      const kind = recordings[0]?.kind ?? 'asterisk'
      const other = recordings.findIndex((recording) => recording.kind !== kind)
      if (other > 0)
        throw wrongUsage(`${paths[other]} is of another kind of PBX than ${paths[0]}: give recordings of one PBX`)
      const names = namesOf(paths)
      const tenants = tenantsGiven(rule, kind)
      const explanation = explain(recordings, { pbx: names[0] ?? '', ...patterns, tenants })
      const { explained, files } = explanation
      const empty = files.findIndex(
        ({ frames, passedOver, tainted }) => tainted.length === frames && (frames > 0 || passedOver === 0),
      )
      if (empty >= 0) throw wrongUsage(`${paths[empty]} contains no PBX event: ${GIVE_A_RECORDING}`)
      const lines = json ? explained.map((one) => jsonOf(one, names)) : report(names, explanation, kind, newPaint())
      for (const line of lines) print(line)
      const broken = files.findIndex(({ fault }) => fault !== undefined)
      if (broken >= 0) throw new Fault('invalid', `${paths[broken]} cannot be read to its end: ${files[broken]?.fault}`)
    })
}

function tenantsGiven(text: string | undefined, kind: PbxRecording['kind']): TenantRule | undefined {
  const tenants = tenantsOf(text, kind)
  if (typeof tenants === 'string') throw wrongUsage(`--tenants: it ${tenants}`)
  return tenants
}

/** Returns the names without folders, if these differ. */
function namesOf(paths: readonly string[]): readonly string[] {
  const names = paths.map((path) => basename(path))
  return new Set(names).size === names.length ? names : paths
}

function report(
  names: readonly string[],
  explanation: Explanation,
  kind: PbxRecording['kind'],
  paint: Paint,
): string[] {
  const calls = Map.groupBy(explanation.explained, ({ event }) => event.callId)
  return [
    ...[...calls.values()].flatMap((events, index) => [
      paint('bold', `call ${index + 1}${accountOf(events, explanation)}`),
      ...events.flatMap((one) => explainedLines(names, one, paint)),
      '',
    ]),
    ...summary(names, explanation, kind, calls.size),
  ]
}

/** Returns the account of a call for its headline, if calls have different ones. */
function accountOf([first]: readonly Explained[], { withoutTenant }: Explanation): string {
  return withoutTenant === null || first === undefined ? '' : ` of ${harmless(first.event.body.data.account)}`
}

function explainedLines(names: readonly string[], explained: Explained, paint: Paint): string[] {
  const { event, atMs, cause, reason } = explained
  const waitedMs = Math.round(atMs - cause.atMs)
  const why = waitedMs > 0 ? `${waitedMs} ms after` : 'by'
  const raw = [cause.name, harmless(cause.channel)].filter(Boolean).join(' ')
  const time = `${(atMs / 1_000).toFixed(3).padStart(9)} s`
  return [
    `${time}  ${paint('cyan', event.name.padEnd(22))}  ${harmless(phraseOf(event.body))}`,
    paint('dim', `${' '.repeat(37)}${why} ${raw} at ${names[cause.file]}:${cause.line} (byte ${cause.offset})`),
    ...(reason === undefined ? [] : [paint('dim', `${' '.repeat(37)}${harmless(reason)}`)]),
  ]
}

function jsonOf({ event, atMs, cause, reason }: Explained, names: readonly string[]): string {
  const { name, channel, file, line, offset } = cause
  return printableJson({
    at_ms: atMs,
    event: event.body,
    reason: reason ?? null,
    cause: { name, channel, file: names[file], line, offset, at_ms: cause.atMs },
  })
}

function summary(
  names: readonly string[],
  { explained, files, withoutTenant, open, endpoints }: Explanation,
  kind: PbxRecording['kind'],
  calls: number,
): string[] {
  const { title, protocol } = PBX_FACTS[kind]
  const frames = files.reduce((sum, file) => sum + file.frames, 0)
  const passedOver = files.reduce((sum, file) => sum + file.passedOver, 0)
  const tainted = files.flatMap((file, index) =>
    file.tainted.map((offset) => (files.length === 1 ? `byte ${offset}` : `byte ${offset} of ${names[index]}`)),
  )
  return [
    `${title} (${protocol}): ${explained.length} events of ${counted(calls, 'call')} from ${frames} raw events; ${passedOver} others have no meaning for calls.`,
    ...(withoutTenant === null ? [] : [tenantsLine(explained, withoutTenant)]),
    ...(open === 0
      ? []
      : [`${counted(open, 'of the calls is', 'of the calls are')} still live at the end of the recording.`]),
    ...(tainted.length === 0
      ? []
      : [`${tainted.length} were ignored: a caller may have written into them (${tainted.slice(0, 5).join(', ')}).`]),
    ...endpointLines(endpoints),
  ]
}

/** Returns the number of calls of each customer, and of calls that show no customer. */
function tenantsLine(explained: readonly Explained[], withoutTenant: number): string {
  const started = explained.filter(({ event }) => event.name === 'call_started')
  const calls = Map.groupBy(started, ({ event }) => event.body.data.account)
  const counts = [...calls].map(([account, own]) => `${harmless(account)} (${own.length})`)
  const found = counts.length === 0 ? '' : `Calls by account: ${counts.join(', ')}. `
  if (withoutTenant === 0) return found.trim()
  const without = `${counted(withoutTenant, 'call shows', 'calls show')} no customer`
  return `${found}${without}: such calls go to the account in the PBX URL (account=…), or to none.`
}

/** Returns how the endpoints were classified, which decides the direction of calls, and why. */
function endpointLines(endpoints: Explanation['endpoints']): string[] {
  const undecided = lineOf(endpoints, null)
  const decided = (['trunk', 'extension'] as const).flatMap((kind) => lineOf(endpoints, kind) ?? [])
  return [
    ...decided,
    ...(undecided === null ? [] : [`${undecided}: ${SETTING}, or with --trunks or --extensions here`]),
  ].map(harmless)
}
