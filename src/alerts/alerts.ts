import type { Log } from '../lib/log.ts'
import { type NowUs, rfc3339, nowUs as wallUs } from '../lib/time.ts'

/** Something that the operator wants to know at once: it has been down for five minutes, or is back. */
export type Alert = {
  readonly what: 'webhook' | 'pbx'
  readonly state: 'down' | 'up'
  /** The webhook's URL without user and password, or the PBX's name. */
  readonly name: string
  readonly reason?: string | undefined
}

export type Alerts = {
  say(alert: Alert): void
  /** Gives up what is under way. */
  stop(): Promise<void>
}

export type AlertOptions = {
  /** Where they are posted; without it nothing is. */
  readonly url?: string | undefined
  readonly proxy?: string | undefined
  readonly log: Log
  readonly nowUs?: NowUs
  readonly pausesMs?: readonly number[]
}

/** An operator's chat may be away for a moment, too. */
const PAUSES_MS = [5_000, 30_000, 120_000]
const TIMEOUT_MS = 10_000

/** Posts alerts to the operator's URL, one after the other, so that "down" never comes after "back". */
export function createAlerts({ url, proxy, log, nowUs = wallUs, pausesMs = PAUSES_MS }: AlertOptions): Alerts {
  const stopping = new AbortController()
  let last: Promise<void> = Promise.resolve()

  async function post(target: string, body: string): Promise<void> {
    for (const pauseMs of [...pausesMs, undefined]) {
      const problem = await postOnce(target, body, proxy, stopping.signal)
      if (problem === undefined || stopping.signal.aborted) return
      log.warn({ reason: problem }, 'the alert URL (--alert-url) does not take an alert')
      if (pauseMs === undefined) return
      await Promise.race([Bun.sleep(pauseMs), aborted(stopping.signal)])
      if (stopping.signal.aborted) return
    }
  }

  return {
    say(alert) {
      if (url === undefined) return
      const body = JSON.stringify(bodyOf(alert, nowUs()))
      last = last.then(() => post(url, body))
    },
    async stop() {
      stopping.abort()
      await last
    },
  }
}

/** `text` is what chats (Slack, Mattermost, Google Chat) show as it is. */
function bodyOf({ what, state, name, reason }: Alert, atUs: number) {
  const subject = what === 'pbx' ? `The PBX ${name}` : `The webhook ${name}`
  const why = reason === undefined ? '' : ` (${reason})`
  const text =
    state === 'down' ? `Hookswitch: ${subject} has been down for 5 minutes${why}.` : `Hookswitch: ${subject} is back.`
  return { time: rfc3339(atUs), alert: `${what}_${state}`, [what === 'pbx' ? 'pbx' : 'url']: name, text }
}

async function postOnce(url: string, body: string, proxy: string | undefined, stop: AbortSignal) {
  try {
    const { ok, status } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'HookswitchAlert/1.0' },
      body,
      proxy: proxy ?? false,
      redirect: 'manual',
      signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    return ok ? undefined : `status ${status}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
