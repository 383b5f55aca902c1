import { existsSync } from 'node:fs'
import { access, constants, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { portProblem } from '../../http/server.ts'
import { holderOf } from '../../store/sqlite/lock.ts'
import { mendingLine, storeFaultKind } from '../../store/sqlite/store-fault.ts'
import { dataFlag } from '../options.ts'
import { advice, type Diagnosis, ok, wrong } from './diagnosis.ts'

const MIB = 1024 * 1024
const LITTLE_BYTES = 512 * MIB

export async function diagnoseDisk(folder: string): Promise<Diagnosis[]> {
  try {
    await access(folder, constants.R_OK | constants.W_OK)
    const { bavail, bsize } = await statfs(folder)
    const free = Math.floor((bavail * bsize) / MIB)
    return [
      free * MIB < LITTLE_BYTES
        ? wrong(
            'disk',
            `${folder} has ${free} MiB left`,
            'make room, or keep less: --retention 7d --retention-calls 30d',
          )
        : ok('disk', `${folder} has ${free} MiB left`),
    ]
  } catch (error) {
    const kind = existsSync(folder) ? storeFaultKind(error, join(folder, 'hookswitch.db')) : undefined
    return [
      kind === undefined
        ? wrong('disk', `${folder} is not there`, `mkdir -p ${folder} && chown "$(id -un)" ${folder}`)
        : wrong('disk', `${folder} may not be written`, mendingLine(kind, join(folder, 'hookswitch.db'))),
    ]
  }
}

const ANSWER_WITHIN_MS = 3_000

/** Whether a service has the folder and answers where the settings say; else whether one could listen there. */
export async function diagnoseService({ listen, dataPath }: Config): Promise<Diagnosis[]> {
  if (holderOf(`${dataPath}/lock`) === undefined)
    return [
      advice('service', 'no service runs on this folder', `hookswitch serve${dataFlag(dataPath)}`),
      ...diagnosePort(listen),
    ]
  const host = { '0.0.0.0': '127.0.0.1', '::': '[::1]' }[listen.host] ?? listen.host
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${listen.port}/health`
  const status = await fetch(url, { proxy: false, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) }).then(
    (response) => response.status,
    () => undefined,
  )
  if (status === 200) return [ok('service', `it runs, and is well (${url})`)]
  if (status === undefined)
    return [advice('service', `it runs, but not at ${url}`, 'give doctor the --listen that serve has')]
  return [
    wrong('service', `it says that it is not well (${url}: ${status})`, 'see its log: the store cannot be written'),
  ]
}

/** Whether a service could have its port, where none runs yet. */
function diagnosePort(listen: Config['listen']): Diagnosis[] {
  const problem = portProblem(listen)
  return [
    problem === undefined
      ? ok('port', `${listen.host}:${listen.port} is free`)
      : wrong('port', problem, `ss -ltnp 'sport = :${listen.port}'   shows what holds it`),
  ]
}

const OFF_MS = 60_000

/** What others' clocks say of ours: receivers', as they answered just now, and the newest event in the store. */
export function diagnoseClock(
  nowMs: number,
  othersMs: readonly number[],
  newestEventMs: number | undefined,
): Diagnosis[] {
  const mend = 'timedatectl set-ntp true'
  if (newestEventMs !== undefined && newestEventMs > nowMs + OFF_MS)
    return [wrong('clock', 'it is behind the newest event in the store: it was set back', mend)]
  const offs = othersMs.map((other) => other - nowMs).toSorted((one, other) => one - other)
  const middle = offs[Math.floor(offs.length / 2)]
  if (middle !== undefined && Math.abs(middle) > OFF_MS)
    return [
      wrong(
        'clock',
        `it is ${Math.round(Math.abs(middle) / 1_000)} s off what receivers say: they refuse signatures`,
        mend,
      ),
    ]
  return [ok('clock', `it says ${new Date(nowMs).toISOString()}${middle === undefined ? '' : ', as receivers do'}`)]
}
