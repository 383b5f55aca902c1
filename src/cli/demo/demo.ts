import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, startApp } from '../../app/app.ts'
import { type Config, readConfig } from '../../app/config.ts'
import { DEFAULTS, listenAddress } from '../../app/settings.ts'
import { Fault } from '../../lib/fault.ts'
import { createLog } from '../../lib/log.ts'
import { newPaint } from '../../lib/terminal-text.ts'
import { VERSION } from '../../lib/version.ts'
import { startReplay } from '../../pbx/pbx.ts'
import { print } from '../print.ts'
import { startReceiver } from '../receiver.ts'
import { newChecklist } from './checklist.ts'
import { configureWebhook } from './client.ts'
import { newProgress } from './progress.ts'
import { PLAYED } from './recordings.ts'

const EMAIL = 'demo@hookswitch.test'
/** Nobody else on this machine may guess it: the user is an administrator. */
const newPassword = (): string => crypto.getRandomValues(new Uint8Array(12)).toBase64({ alphabet: 'base64url' })
/** After the last event of a recording: events that are settling, and the second before `call_saved`. */
const ARRIVE_WITHIN_MS = 15_000
/** The recordings take 8 and 12 seconds: after this time the service has not connected to one. */
const PLAYED_WITHIN_MS = 60_000

export type DemoFlags = { listen: string; host: readonly string[]; once?: boolean; bodies?: boolean }

/**
 * Runs the whole path on a temporary store (recordings → TCP → service → webhook → receiver) and prints what happens.
 */
export async function runDemo(flags: DemoFlags, stop: Promise<void>): Promise<void> {
  const { listen, host, once = false, bodies = false } = flags
  listenAddress(listen)
  const password = newPassword()
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-demo-'))
  const progress = newProgress({ paint: newPaint(), bodies, print })
  const checklist = newChecklist()
  let secret = ''
  const receiver = startReceiver({ host: '127.0.0.1', port: 0 }, (request) => {
    progress.received(request, checklist.enter(request, secret))
    return undefined
  })
  const pbxs = PLAYED.map((played) => {
    const turn = Promise.withResolvers<void>()
    return { played, turn, replay: startReplay({ files: [played.recording], after: turn.promise }) }
  })
  let app: App | undefined
  try {
    const urls = pbxs.map(({ played, replay }) => `${replay.url}?name=${played.pbx}`)
    app = await startApp(demoConfig({ listen, host, data: folder, pbx: urls, password }), {
      log: createLog('error'),
      version: VERSION,
    })
    const webhook = `${receiver.url}/crm`
    secret = await configureWebhook(app.url, { email: EMAIL, password, webhook })
    progress.open({ url: app.url, webhook, email: EMAIL, password })
    for (const { played, turn, replay } of pbxs) {
      progress.begin(played)
      turn.resolve()
      const complete = replay.finished.then(() => checklist.complete(played, ARRIVE_WITHIN_MS))
      const late = Bun.sleep(PLAYED_WITHIN_MS)
      const stopped = await Promise.race([complete, late, stop.then(() => 'stopped' as const)])
      if (stopped && !once) return
    }
    const missing = checklist.missing(PLAYED)
    if (missing.length > 0 && once) throw new Fault('unavailable', `the demo is incomplete: ${missing.join('; ')}`)
    progress.close(missing)
    if (once) return
    progress.goOn(app.url)
    await stop
  } finally {
    await app?.stop()
    for (const { replay } of pbxs) await replay.stop()
    await receiver.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

type DemoSettings = Pick<DemoFlags, 'listen' | 'host'> & {
  readonly data: string
  readonly pbx: readonly string[]
  readonly password: string
}

function demoConfig({ password, ...given }: DemoSettings): Config {
  const flags = {
    ...DEFAULTS,
    ...given,
    allowNet: ['loopback'],
    logLevel: 'error',
  }
  return readConfig(flags, { HOOKSWITCH_USER_EMAIL: EMAIL, HOOKSWITCH_USER_PASSWORD: password })
}
