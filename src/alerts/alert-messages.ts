import type { Log } from '../lib/log.ts'
import { createPauses } from '../lib/periodic.ts'
import { oneLine } from '../lib/terminal-text.ts'
import { type NowUs, rfc3339 } from '../lib/time.ts'

/** A notice for the operator. */
type Alert =
  | {
      /** A webhook or PBX has been down for five minutes, or is up again. With a reason it is no longer watched. */
      readonly what: 'webhook' | 'pbx'
      readonly state: 'down' | 'up'
      /** The redacted URL of the webhook, or the name of the PBX. */
      readonly name: string
      readonly reason?: string | undefined
    }
  | {
      /** A webhook refuses its requests, or accepts them again. With a reason it is no longer watched. */
      readonly what: 'webhook'
      readonly state: 'refuses' | 'accepts'
      /** The redacted URL of the webhook. */
      readonly name: string
      readonly reason?: string | undefined
    }
  | {
      /** Further calls of a PBX are not followed because too many are open, or are followed again. */
      readonly what: 'calls'
      readonly state: 'not_followed' | 'followed'
      /** The name of the PBX. */
      readonly name: string
      readonly reason?: string | undefined
    }
  | {
      /** A trunk has been rejected or unreachable for a while, or is up again. With a reason it no longer exists. */
      readonly what: 'trunk'
      readonly state: 'down' | 'up'
      /** The trunk's name and its PBX's. */
      readonly name: string
      readonly reason?: string | undefined
    }
  | {
      /** Backups fail, or succeed again; or the names of some, in `reason`, are of a time in the future. */
      readonly what: 'backup'
      readonly state: 'failed' | 'succeeded' | 'from_future'
      /** The place of the backups. */
      readonly name: string
      readonly reason?: string | undefined
    }
  | {
      /** The renewal of a token is refused or succeeds again, for a webhook or for the look-up of contacts. */
      readonly what: 'authorization'
      readonly state: 'refused' | 'renewed'
      /** The redacted URL of the webhook, or `contacts`. */
      readonly name: string
      readonly reason?: string | undefined
    }

export type Alerts = {
  /** Queues an alert for the operator's URL. Drops and logs it when 1,000 are queued. */
  send(alert: Alert): void
  /** Aborts the alert in flight and drops the others. */
  stop(): Promise<void>
}

type AlertOptions = {
  /** The operator's URL; absent: no alert is sent. */
  readonly url?: string | undefined
  readonly proxy?: string | undefined
  readonly log: Log
  readonly nowUs: NowUs
  readonly pausesMs?: readonly number[]
}

/** The pauses before further attempts: the operator's chat may be down for a moment. */
const PAUSES_MS = [5_000, 30_000, 120_000]
const TIMEOUT_MS = 10_000
/** Bounds the memory while the operator's URL is down and webhooks of customers go up and down. */
const MAX_QUEUED = 1_000

/** Creates the sender of alerts. It posts one at a time, so that "down" never arrives after "up". */
export function createAlerts({ url, proxy, log, nowUs, pausesMs = PAUSES_MS }: AlertOptions): Alerts {
  const stopping = new AbortController()
  const pauses = createPauses()
  let queued = 0
  let last: Promise<void> = Promise.resolve()

  async function post(target: string, body: string): Promise<void> {
    for (const pauseMs of [...pausesMs, undefined]) {
      const problem = await postOnce(target, body, proxy, stopping.signal)
      if (problem === undefined || stopping.signal.aborted) return
      log.warn({ reason: problem }, 'cannot send an alert to the alert URL (--alert-url)')
      if (pauseMs === undefined) return
      await pauses.wait(pauseMs)
      if (stopping.signal.aborted) return
    }
  }

  return {
    send(alert) {
      if (url === undefined) return
      if (queued >= MAX_QUEUED) {
        log.warn(alert, 'an alert is dropped: too many others wait for the alert URL (--alert-url)')
        return
      }
      const body = JSON.stringify(bodyOf(alert, nowUs()))
      queued += 1
      last = last.then(async () => {
        await post(url, body)
        queued -= 1
      })
    },
    async stop() {
      stopping.abort()
      pauses.end()
      await last
    },
  }
}

/** The key in the body for each kind of alert. */
const KEYS = {
  webhook: 'url',
  pbx: 'pbx',
  calls: 'pbx',
  trunk: 'trunk',
  backup: 'backup',
  authorization: 'url',
} as const satisfies Record<Alert['what'], string>

/** Returns the JSON body of an alert. Slack, Mattermost and Google Chat show its `text`. */
function bodyOf(alert: Alert, atUs: number) {
  const { what, state, name } = alert
  return { time: rfc3339(atUs), alert: `${what}_${state}`, [KEYS[what]]: name, text: `Hookswitch: ${sentence(alert)}` }
}

function sentence({ what, state, name, reason }: Alert): string {
  const why = reason === undefined ? '' : ` (${inert(reason)})`
  if (what === 'backup') {
    if (state === 'from_future')
      return `Backups in ${inert(name)} are from the future${why}: the clock was ahead. They count as the oldest.`
    return state === 'failed'
      ? `The backup to ${inert(name)} failed${why}. It will be tried again.`
      : `The backup to ${inert(name)} has succeeded again.`
  }
  if (what === 'calls')
    return state === 'not_followed'
      ? `Further calls of the PBX ${inert(name)} are not followed, since too many are open${why}.`
      : `Calls of the PBX ${inert(name)} are followed again.`
  if (what === 'authorization')
    return state === 'refused'
      ? `The authorization of ${inert(name)} is refused${why}. Its deliveries stay pending: correct its key or login.`
      : `The authorization of ${inert(name)} works again.`
  if (what === 'trunk') {
    if (state === 'down') return `The trunk ${inert(name)} is down${why}.`
    return reason === undefined ? `The trunk ${inert(name)} is up again.` : `The trunk ${inert(name)} is gone${why}.`
  }
  const subject = `The ${what === 'pbx' ? 'PBX' : 'webhook'} ${inert(name)}`
  if (state === 'refuses')
    return `${subject} refuses: at least five answers in a row were refusals${why}. It works, so look at its log.`
  if (state === 'accepts' && reason === undefined) return `${subject} accepts deliveries again.`
  if (state === 'down') return `${subject} has been down for 5 minutes${why}.`
  return reason === undefined ? `${subject} is up again.` : `${subject} is no longer watched${why}.`
}

const MAX_CHARACTERS = 500

/**
 * Escapes text of a PBX or a customer: no chat shows it as a mention or a misleading link, whether it reads Slack's
 * escapes or Markdown.
 */
const inert = (text: string): string =>
  oneLine(text)
    .slice(0, MAX_CHARACTERS)
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('](', '] (')
    // A zero-width space keeps @channel from being a mention.
    .replace(/@(?=\w)/g, '@\u200b')

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
