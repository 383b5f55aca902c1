import { existsSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../app/config.ts'
import { portProblem } from '../../http/server.ts'
import { formatDuration } from '../../lib/time.ts'
import { isServed, lockProblem } from '../../store/sqlite/engine/folder-lock.ts'
import { fixCommand, storeFaultKind } from '../../store/sqlite/engine/store-fault.ts'
import { dataFlag, quoted } from '../suggested-commands.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

const MIB = 1024 * 1024
const LOW_SPACE_BYTES = 512 * MIB

/** Checks the data folder: that it exists, that this user may write it, and its free space. */
export async function diagnoseDisk(folder: string): Promise<Diagnosis[]> {
  try {
    await access(folder, constants.R_OK | constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    const free = Math.floor((bavail * bsize) / MIB)
    return [
      free * MIB < LOW_SPACE_BYTES
        ? wrong(
            'disk',
            `${folder} has ${free} MiB of free space`,
            'free some disk space, or keep less: --retention 7d --retention-calls 30d',
          )
        : ok('disk', `${folder} has ${free} MiB of free space`),
    ]
  } catch (error) {
    if (!existsSync(folder))
      return [wrong('disk', `${folder} does not exist`, `mkdir -p ${folder} && chown "$(id -un)" ${folder}`)]
    const path = join(folder, 'hookswitch.db')
    const kind = storeFaultKind(error, path)
    return [
      kind === undefined
        ? wrong('disk', `${folder} cannot be used: ${String(error)}`, `ls -ld ${folder}`)
        : wrong('disk', `${folder} is not writable`, fixCommand(kind, path)),
    ]
  }
}

const ANSWER_WITHIN_MS = 3_000

/**
 * Checks that a service answers at the configured address. If not, checks whether a service uses the folder all the
 * same, or whether the port is free.
 */
export async function diagnoseService(config: Config): Promise<Diagnosis[]> {
  const { listen, dataPath } = config
  const url = `http://${reachableHost(listen.host)}:${listen.port}/health`
  const lock = join(dataPath, 'lock')
  const problem = lockProblem(lock)
  if (problem !== undefined)
    return [
      wrong('service', `it cannot start: ${problem}`, `mv ${quoted(lock)} ${quoted(`${lock}.moved`)}`),
      ...diagnosePort(listen),
    ]
  const isHeld = isServed(lock)
  const status = await healthStatus(url)
  if (status === undefined && isHeld)
    return [advice('service', `it is running, but does not answer at ${url}`, 'give doctor the same --listen as serve')]
  if (!isHeld)
    return [
      advice('service', `no service is running on this folder`, `hookswitch serve${dataFlag(config)}`),
      ...diagnosePort(listen),
    ]
  if (status === 200) return [ok('service', `it is running and healthy (${url})`)]
  return [
    wrong('service', `it is running but unhealthy (${url}: ${status})`, 'see its log: it cannot write to the store'),
  ]
}

/** Returns the address at which this machine reaches a service that listens on all addresses. */
function reachableHost(host: string): string {
  const one = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host
  return one.includes(':') ? `[${one}]` : one
}

/** Returns the status of a service's health; `undefined` if nothing answers, or something else does. */
async function healthStatus(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { proxy: false, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    const envelope: unknown = await response.json()
    const isOurs = typeof envelope === 'object' && envelope !== null && 'code' in envelope
    return isOurs && envelope.code === response.status ? response.status : undefined
  } catch {
    return undefined
  }
}

/** Checks that the port is free for a service that is not running yet. */
function diagnosePort(listen: Config['listen']): Diagnosis[] {
  const problem = portProblem(listen)
  return [
    problem === undefined
      ? ok('port', `${listen.host}:${listen.port} is free`)
      : wrong('port', problem, `ss -ltnp 'sport = :${listen.port}'   shows which process uses it`),
  ]
}

const TOLERANCE_MS = 60_000

/**
 * Compares the clock with the `Date` headers of receivers and with the newest event in the store. Receivers refuse
 * signatures when it is off by more than a few minutes.
 */
export function diagnoseClock(
  nowMs: number,
  othersMs: readonly number[],
  newestEventMs: number | undefined,
): Diagnosis[] {
  const fix = 'timedatectl set-ntp true'
  if (newestEventMs !== undefined && newestEventMs > nowMs + TOLERANCE_MS)
    return [wrong('clock', 'it is behind the newest event in the store, so it was set back', fix)]
  const offsets = othersMs.map((other) => other - nowMs).toSorted((one, other) => one - other)
  const middle = offsets[Math.floor(offsets.length / 2)]
  if (middle !== undefined && Math.abs(middle) > TOLERANCE_MS)
    return [
      wrong(
        'clock',
        `it differs by ${formatDuration(Math.abs(middle))} from the clocks of the receivers, which will refuse signatures`,
        fix,
      ),
    ]
  return [ok('clock', `it is ${new Date(nowMs).toISOString()}${middle === undefined ? '' : ', as at the receivers'}`)]
}
