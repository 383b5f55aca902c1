import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { startPeriodic } from '../lib/periodic.ts'
import { shownUrl } from '../lib/shown-url.ts'
import { type NowUs, rfc3339 } from '../lib/time.ts'
import { FILE_MODE } from '../store/sqlite/engine/data-folder.ts'
import { holderOf } from '../store/sqlite/engine/folder-lock.ts'
import type { OwnStatuses } from '../web/web.ts'
import type { Config } from './config.ts'

// The file `service.json` in the folder of a running service: its settings, and which webhooks are down or refuse, for
// commands on the same machine. It has no secret, and nothing in it has to survive the process.

const textOrNull = t.Union([t.String(), t.Null()])

/** The settings of a running service that other commands need. */
export const SettingsInForce = t.Object({
  url: t.String(),
  allowNets: t.Array(t.String()),
  /** Without its user and password. */
  proxy: textOrNull,
  /** The folder of presets; a service of an earlier version does not note it. */
  presets: t.Optional(textOrNull),
  recordingsFrom: t.Array(t.String()),
  recordingsCopy: textOrNull,
  backup: textOrNull,
  backupEveryMs: Type.Number(),
})
export type SettingsInForce = typeof SettingsInForce.static

/** A webhook that is down or refuses: since when, and the error of its last attempt. */
export const DownWebhook = t.Object({
  webhookId: Type.Integer(),
  since: t.String({ format: 'date-time', default: undefined }),
  error: t.String(),
})
export type DownWebhook = typeof DownWebhook.static

const Note = t.Object({
  pid: Type.Integer(),
  host: t.String(),
  settings: SettingsInForce,
  down: t.Array(DownWebhook),
  /** The webhooks whose receivers refuse all that they get. A service of an earlier version does not note them. */
  refusing: t.Optional(t.Array(DownWebhook)),
})

/** Commands show a change within a second. */
const CHECK_MS = 500
/** At most this many webhooks, to keep the file small. */
const MAX_DOWN = 1_000

const pathIn = (folder: string) => join(folder, 'service.json')

/** Returns the settings of a service that commands may read. */
export function settingsInForce(url: string, config: Config): SettingsInForce {
  const { allowNets, proxy, presets, recordingsFrom, recordingsCopy, backup, backupEveryMs } = config
  return {
    url,
    allowNets: [...allowNets],
    proxy: proxy === undefined ? null : shownUrl(proxy),
    presets: presets ?? null,
    recordingsFrom: recordingsFrom.map(shownUrl),
    recordingsCopy: recordingsCopy ?? null,
    backup: backup ?? null,
    backupEveryMs,
  }
}

type Options = {
  readonly folder: string
  readonly settings: SettingsInForce
  readonly own: OwnStatuses
  /** The clock of the circuit breakers. */
  readonly steadyUs: NowUs
  readonly nowUs: NowUs
}

/**
 * Writes the note of this service, and keeps it up to date. Resolves after the first write; `stop` deletes the note.
 */
export async function startServiceNote(options: Options): Promise<{ stop(): Promise<void> }> {
  const { folder, settings, own, steadyUs, nowUs } = options
  const path = pathIn(folder)
  const sinceTexts = new Map<number, { readonly sinceUs: number; readonly text: string }>()
  let written: string | undefined

  /** Returns when an outage began. Reads both clocks once for each outage, so that the answer does not waver. */
  function sinceOf(webhookId: number, sinceUs: number): string {
    const known = sinceTexts.get(webhookId)
    if (known?.sinceUs === sinceUs) return known.text
    const text = rfc3339(Math.round(nowUs() - steadyUs() + sinceUs))
    sinceTexts.set(webhookId, { sinceUs, text })
    return text
  }
  function downWebhooks(): DownWebhook[] {
    const down: DownWebhook[] = []
    for (const { webhookId } of own.counts.known()) {
      const { downSinceUs } = own.health(webhookId)
      if (downSinceUs === null) sinceTexts.delete(webhookId)
      else if (down.length < MAX_DOWN)
        down.push({ webhookId, since: sinceOf(webhookId, downSinceUs), error: lastErrorOf(own.counts.last(webhookId)) })
    }
    return down
  }
  function refusingWebhooks(): DownWebhook[] {
    return own.refusals
      .refusing()
      .slice(0, MAX_DOWN)
      .map(({ webhookId }) => ({
        webhookId,
        since: rfc3339(own.refusals.sinceUs(webhookId) ?? nowUs()),
        error: lastErrorOf(own.counts.last(webhookId)),
      }))
  }
  async function update(replace: (path: string, text: string) => Promise<void>): Promise<void> {
    const text = JSON.stringify({
      pid: process.pid,
      host: hostname(),
      settings,
      down: downWebhooks(),
      refusing: refusingWebhooks(),
    })
    if (text === written) return
    try {
      await replace(path, text)
      written = text
    } catch {
      // The disk may be full. No note is better than an old one; commands work without it.
      written = undefined
      remove()
    }
  }
  function remove(): void {
    for (const one of [path, `${path}.new`]) removeIfPossible(one)
  }
  await update(replaceAtOnce)
  const periodic = startPeriodic(CHECK_MS, () => update(replaceFile))
  return {
    async stop() {
      await periodic.stop()
      remove()
    },
  }
}

/** Replaces the file while nothing else runs yet: waking threads for it takes some milliseconds of a start. */
async function replaceAtOnce(path: string, text: string): Promise<void> {
  writeFileSync(`${path}.new`, text, { mode: FILE_MODE })
  renameSync(`${path}.new`, path)
}

async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: FILE_MODE })
  await rename(`${path}.new`, path)
}

function removeIfPossible(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // The folder cannot be written now. Readers compare the note with the lock.
  }
}

/** Returns settings that a service wrote as JSON; `undefined` without settings that this version can read. */
export function readNotedSettings(json: string | null): SettingsInForce | undefined {
  try {
    const settings: unknown = JSON.parse(json ?? 'null')
    return Value.Check(SettingsInForce, settings) ? settings : undefined
  } catch {
    return undefined
  }
}

type Last = ReturnType<OwnStatuses['counts']['last']>

/** Returns why the last attempt of a webhook failed. */
export const lastErrorOf = (last: Last): string =>
  last?.error ?? (last === null || last.status === null ? 'it does not answer' : `it answers ${last.status}`)

/** Returns the note of the service that runs on a folder; `undefined` without a service, or without its note. */
export async function readServiceNote(
  folder: string,
): Promise<Pick<typeof Note.static, 'settings' | 'down' | 'refusing'> | undefined> {
  try {
    const holder = holderOf(join(folder, 'lock'))
    if (holder === undefined) return undefined
    const note: unknown = JSON.parse(await readFile(pathIn(folder), 'utf8'))
    // A killed process leaves its note behind.
    const isHolders = Value.Check(Note, note) && holder.startsWith(`process ${note.pid} on ${note.host}, `)
    return isHolders ? note : undefined
  } catch {
    return undefined
  }
}
