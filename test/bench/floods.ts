import { readFileSync } from 'node:fs'
import { buildOnce, emptyFolder, startServe } from '../help/app.ts'
import { type FloodingPbx, startFloodingAsterisk, startFloodingFreeswitch } from './flooding-pbx.ts'
import { residentMb } from './pbx-to-receiver.ts'
import { atMost, type Row } from './table.ts'

const SECONDS = 15
/** What has arrived is processed within this time. */
const AFTER_MS = 20_000
const BAR_MB = 600
const ARGS = ['--log-level', 'error']

/** The memory of the executable beside a PBX that opens channels without end: the peak, and some time later. */
export async function benchFloods(): Promise<Row[]> {
  await buildOnce()
  return [
    await benchFlood('an Asterisk opens channels without end', startFloodingAsterisk(SECONDS)),
    await benchFlood('a FreeSWITCH opens channels without end', startFloodingFreeswitch(SECONDS)),
  ]
}

async function benchFlood(what: string, pbx: FloodingPbx): Promise<Row> {
  using folder = emptyFolder()
  const app = await startServe({ cwd: folder.path, args: [...ARGS, '--pbx', pbx.url] })
  await Bun.sleep(SECONDS * 1_000 + AFTER_MS)
  const [peakMb, afterMb] = [peakResidentMb(app.pid), residentMb(app.pid)]
  await app.stop('SIGKILL')
  pbx.stop()
  const sent = pbx.sent().toLocaleString('en')
  return atMost(
    `peak of the memory while ${what}`,
    BAR_MB,
    peakMb,
    ' MB',
    `${sent} events; ${afterMb.toFixed(0)} MB after`,
  )
}

/** Returns the most memory that a process has had, in megabytes. */
export const peakResidentMb = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024
