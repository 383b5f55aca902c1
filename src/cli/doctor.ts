import type { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import type { Target } from '../deliveries/sending/target.ts'
import { parseAllowList } from '../lib/address-guard.ts'
import { Fault } from '../lib/fault.ts'
import { harmless, newPaint, type Paint } from '../lib/terminal-text.ts'
import { checkPbx } from '../pbx/tools/check.ts'
import type { GivenSettings } from '../settings.ts'
import { advice, type Diagnosis, ok, wrong } from './doctor/diagnosis.ts'
import { diagnoseClock, diagnoseDisk, diagnoseService } from './doctor/machine.ts'
import { reach } from './doctor/reach.ts'
import { diagnoseStore } from './doctor/store.ts'
import { jsonOption } from './options.ts'
import { print, printJson } from './print.ts'
import { settings } from './setting-flags.ts'

/** `hookswitch doctor`: with the flags and variables that `serve` has, since those are looked at too. */
export function doctorCommand(program: Command): void {
  settings(program.command('doctor').description('say what is wrong with this installation, and what mends it'))
    .addOption(jsonOption())
    .action(async ({ json = false, ...flags }: GivenSettings & { json?: boolean }) => {
      const diagnoses = await diagnose(flags)
      const paint = newPaint()
      if (json) printJson(diagnoses)
      else for (const one of diagnoses) print(linesOf(paint, one))
      const faults = diagnoses.filter(({ level }) => level === 'wrong').length
      if (faults > 0) throw new Fault('unavailable', `${faults} ${faults === 1 ? 'thing is' : 'things are'} wrong`)
    })
}

async function diagnose(flags: GivenSettings): Promise<Diagnosis[]> {
  let config: Config
  try {
    config = readConfig(flags, process.env)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return [wrong('settings', why, 'hookswitch serve --help')]
  }
  const disk = await diagnoseDisk(config.dataPath)
  const store = await diagnoseStore(config.dataPath)
  const service = await diagnoseService(config)
  const [receivers, pbxs] = await Promise.all([diagnoseReceivers(config, store.webhooks), diagnosePbxs(config)])
  const clock = diagnoseClock(Date.now(), receivers.clocksMs, store.newestEventMs)
  return [
    ok('settings', 'they can be read'),
    ...service,
    ...store.diagnoses,
    ...disk,
    ...clock,
    ...pbxs,
    ...receivers.diagnoses,
  ]
}

async function diagnosePbxs({ pbxs }: Config): Promise<Diagnosis[]> {
  if (pbxs.length === 0)
    return [advice('PBX', 'none is watched', "hookswitch serve --pbx 'ami://hookswitch:secret@127.0.0.1'")]
  const found = await Promise.all(
    pbxs.map(async (source) => {
      const findings = await checkPbx(source, 0)
      return findings.map(({ level, text }): Diagnosis => {
        const said = `${source.name}: ${text}`
        const mend = `hookswitch pbx check '${source.protocol}://…@${source.host}:${source.port}'`
        return level === 'missing' ? wrong('PBX', said, mend) : { level, about: 'PBX', text: said }
      })
    }),
  )
  return found.flat()
}

type Listed = { readonly account: string; readonly target: Target }

async function diagnoseReceivers({ allowNets, proxy }: Config, webhooks: readonly Listed[]) {
  const parsed = parseAllowList(allowNets)
  const allow = 'allow' in parsed ? parsed.allow : []
  if (proxy !== undefined)
    return {
      diagnoses: [ok('webhooks', `they go through ${new URL(proxy).host}: they are not looked at`)],
      clocksMs: [],
    }
  const clocksMs: number[] = []
  const diagnoses = await Promise.all(
    webhooks.map(async ({ account, target }) => {
      const about = account === 'default' ? 'webhook' : `webhook of ${account}`
      const found = await reach(target, allow)
      if (found.kind === 'reached') {
        if (found.clockMs !== undefined) clocksMs.push(found.clockMs)
        return ok(about, `${target.plain} is reached at ${found.address}`)
      }
      const mend =
        found.kind === 'refused'
          ? 'hookswitch serve --allow-net …   with the network that is meant, or another URL'
          : `curl -I ${target.plain}   from this machine; then the name, the firewall, the certificate`
      return wrong(about, `${target.plain}: ${found.reason}`, mend)
    }),
  )
  return { diagnoses, clocksMs }
}

const COLOURS = { ok: 'green', advice: 'yellow', wrong: 'red' } as const

function linesOf(paint: Paint, { level, about, text, mend }: Diagnosis): string {
  const line = `${paint(COLOURS[level], level.padEnd(7))} ${about}: ${harmless(text)}`
  return mend === undefined ? line : `${line}\n        ${paint('dim', '→')} ${harmless(mend)}`
}
