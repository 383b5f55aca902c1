import { accessSync, constants, statSync } from 'node:fs'
import { type Command, Option } from 'commander'
import { listenAddress } from '../../app/settings.ts'
import { portProblem } from '../../http/server.ts'
import { Fault } from '../../lib/fault.ts'
import { harmless } from '../../lib/terminal-text.ts'
import { parseDuration } from '../../lib/time.ts'
import { wrongUsage } from '../../lib/usage.ts'
import { checkPbx, type PbxSourceUrl, recordConnection, startReplay } from '../../pbx/pbx.ts'
import { parsePbxUrl } from '../../pbx/source/pbx-url.ts'
import { accountsIn } from '../account-names.ts'
import { GIVE_A_RECORDING } from '../given-recording.ts'
import { hasStore } from '../open-store.ts'
import { controlOption, databaseOption, dataOption, jsonOption } from '../options.ts'
import { inputLine, nameOption, PBX_URL, pbxSource } from '../pbx-source.ts'
import { print, printJson } from '../print.ts'
import { type Service, type ServiceFlags, withService } from '../service.ts'
import { explainCommand } from './pbx-explain.ts'
import { setupCommand } from './pbx-setup.ts'
import { storedPbxCommands } from './pbx-stored.ts'

/** Adds `hookswitch pbx …`. */
export function pbxCommand(program: Command, stopped: () => Promise<void>): void {
  const pbx = program.command('pbx').description('set up, add, list, remove, check, record, replay or explain PBXs')
  setupCommand(pbx)
  storedPbxCommands(pbx, inputLine)
  checkCommand(pbx)
  recordCommand(pbx, stopped)
  replayCommand(pbx, stopped)
  explainCommand(pbx)
}

const given = (url: string | undefined, name: string | undefined) =>
  pbxSource({ url, name, env: process.env, readInput: inputLine })
const URL_HELP = `${PBX_URL}; - for a line of standard input; default: HOOKSWITCH_PBX, else the PBX of the store`

const MAX_LISTEN_MS = 3_600_000

type CheckFlags = ServiceFlags & { listenFor: string; json?: boolean; name?: string; recording?: string }
type RecordFlags = ServiceFlags & { mask?: boolean; name?: string }

function checkCommand(pbx: Command): void {
  pbx
    .command('check')
    .argument('[url]', URL_HELP)
    .description('connect, log in, and report what works and which rights are missing')
    .option('--listen-for <duration>', 'how long to watch events', '5s')
    .option('--recording <path>', 'a recording to read, with its path as the PBX reports it; default: the newest file')
    .addOption(nameOption())
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(controlOption())
    .addOption(jsonOption())
    .action(async (url: string | undefined, flags: CheckFlags) => {
      const { listenFor, json, name, recording } = flags
      const listenMs = parseDuration(listenFor)
      if (listenMs === undefined || listenMs > MAX_LISTEN_MS)
        throw wrongUsage(`--listen-for is ${JSON.stringify(listenFor)}: give a duration up to 1h, like 5s or 2m`)
      const source = await pbxOf(url, name, flags)
      const accountOf = source.tenants === undefined ? undefined : await accountsIn(flags)
      const findings = await checkPbx(source, listenMs, { recordingPath: recording, accountOf })
      if (json) printJson(findings)
      else for (const { level, text } of findings) print(`${level.padEnd(8)} ${harmless(text)}`)
      if (findings.some(({ level }) => level === 'missing'))
        throw new Fault(
          'unavailable',
          'not all that this PBX is to do would work: correct what is marked missing above, then check again',
        )
    })
}

/** Returns the PBX of the argument or the variable, else a stored one, whose URL the caller need not know. */
async function pbxOf(url: string | undefined, name: string | undefined, flags: ServiceFlags) {
  const variable = process.env.HOOKSWITCH_PBX
  const isNamed = variable?.split(/\s+/).some((one) => {
    const parsed = parsePbxUrl(one)
    return 'pbx' in parsed && parsed.pbx.name === name
  })
  if (url !== undefined || isNamed || (variable !== undefined && name === undefined)) return await given(url, name)
  const stored = hasStore(flags) ? await withService(flags, sourcesOf) : []
  const urls = stored.map((one) => one.url)
  if (urls.length === 0) return await given(url, name)
  return await pbxSource({ url, name, env: { HOOKSWITCH_PBX: urls.join(' ') }, readInput: inputLine })
}

/** Returns the PBXs of the store with their secrets. */
const sourcesOf = async (service: Service): Promise<PbxSourceUrl[]> =>
  (await service.ask<PbxSourceUrl[]>('GET', '/pbx/source')).result

function recordCommand(pbx: Command, stopped: () => Promise<void>): void {
  pbx
    .command('record')
    .usage('[options] [url] <file>')
    .argument('<url|file>', `the URL: ${URL_HELP}; then FILE, which must not exist yet`)
    .argument('[file]')
    .description("record a PBX's events until Ctrl-C: the bytes in FILE, their times in FILE.timing")
    .option('--mask', 'replace numbers and names, equal ones by equal ones')
    .addOption(nameOption())
    .addOption(dataOption())
    .addOption(databaseOption())
    .addOption(controlOption())
    .action(async (one: string, other: string | undefined, { mask = false, name, ...place }: RecordFlags) => {
      if (other === undefined && one.includes('://')) throw wrongUsage('FILE is missing: pbx record URL FILE')
      const [url, file] = other === undefined ? [undefined, one] : [one, other]
      const record = recordConnection(await pbxOf(url, name, place), file, { isAnonymized: mask })
      void stopped().then(record.stop)
      const problem = await record.ended
      print(`${record.bytes()} bytes recorded in ${file}`)
      if (problem !== undefined) throw new Fault('unavailable', `the recording ended: ${problem}`)
    })
}

/** Not the service's own variable, which is not meant for a PBX that is replayed beside it. */
const REPLAY_LISTEN = 'HOOKSWITCH_REPLAY_LISTEN'

/** Slower ones would pause for longer than timers can, and faster ones are as fast as the machine. */
const MIN_SPEED = 0.01
const MAX_SPEED = 100_000

/** Longer than a call needs to be saved after its end, because the calls of the next round have the same ids. */
const BETWEEN_ROUNDS_MS = 3_000

function replayCommand(pbx: Command, stopped: () => Promise<void>): void {
  pbx
    .command('replay')
    .argument('<file...>', 'recordings (.ami or .esl, see pbx record)')
    .description('simulate a PBX that plays recordings, until Ctrl-C; each further file on the next connection')
    .addOption(
      new Option('--listen <address>', 'the address of the simulated PBX').default('127.0.0.1:0').env(REPLAY_LISTEN),
    )
    .option('--speed <n>', 'how many times faster than recorded', '1')
    .option('--loop', 'repeat the recordings')
    .action(async (files: string[], flags: { listen: string; speed: string; loop?: boolean }) => {
      const speed = /^\d{1,6}(\.\d{1,6})?$/.test(flags.speed) ? Number(flags.speed) : Number.NaN
      if (!(speed >= MIN_SPEED && speed <= MAX_SPEED))
        throw wrongUsage(
          `--speed is ${JSON.stringify(flags.speed)}: give a number from ${MIN_SPEED} to ${MAX_SPEED}, like 1 or 0.5`,
        )
      for (const file of files) assertReadable(file)
      const notRecorded = files[(await Promise.all(files.map(isRecording))).indexOf(false)]
      if (notRecorded !== undefined) throw noEvent(notRecorded)
      const again = flags.loop === true ? { againAfterMs: BETWEEN_ROUNDS_MS } : {}
      const { host, port } = listenAddress(flags.listen, `--listen (${REPLAY_LISTEN})`)
      const replay = listening(() => startReplay({ files, hostname: host, port, speed, ...again }), { host, port })
      if (replay.events === 0) {
        await replay.stop()
        throw noEvent(files.join(', '))
      }
      // Before the line that reports it ready: its reader may stop us at once.
      const stop = stopped()
      print(`hookswitch replays ${replay.events} events on ${replay.url}`)
      void replay.finished.then(() =>
        print(`hookswitch has replayed all of them${flags.loop === true ? ' and starts again' : ''}`),
      )
      await stop
      await replay.stop()
    })
}

function assertReadable(file: string): void {
  const problem = wrongUsage(`cannot read ${file}: ${GIVE_A_RECORDING}`)
  try {
    accessSync(file, constants.R_OK)
  } catch {
    throw problem
  }
  if (statSync(file).isDirectory()) throw problem
}

const noEvent = (file: string): Error => wrongUsage(`${file} contains no PBX event: ${GIVE_A_RECORDING}`)

/** A line near the beginning of every recording. Other text with empty lines could be played too, and is refused. */
const RECORDED_LINE = /^(?:Event: |Asterisk Call Manager|Content-Type: (?:auth|command|text|api)\/)/m
const BEGINNING_BYTES = 65_536

async function isRecording(file: string): Promise<boolean> {
  return RECORDED_LINE.test(await Bun.file(file).slice(0, BEGINNING_BYTES).text())
}

function listening<Started>(start: () => Started, address: { host: string; port: number }): Started {
  try {
    return start()
  } catch (cause) {
    const problem = portProblem(address) ?? `cannot listen on ${address.host}:${address.port}: try again`
    throw new Fault('unavailable', problem, { cause })
  }
}
