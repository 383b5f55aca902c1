import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { t } from 'elysia'
import { shownUrl } from '../lib/shown-url.ts'
import type { Config } from './config.ts'

const textOrNull = t.Union([t.String(), t.Null()])

/** The settings of a running service that commands need. None of them is a secret. */
export const SettingsInForce = t.Object({
  /** Where the service listens. */
  url: t.String(),
  allowNets: t.Array(t.String()),
  /** Without its user and password. */
  proxy: textOrNull,
  /** The folder of presets; a node of an earlier version does not note it. */
  presets: t.Optional(textOrNull),
  /** The presets of that folder by name, each with the digest of its file: the nodes of a cluster need the same. */
  preset_files: t.Optional(t.Record(t.String(), t.String())),
  recordingsFrom: t.Array(t.String()),
  recordingsCopy: textOrNull,
  backup: textOrNull,
  backupEveryMs: Type.Number(),
})
export type SettingsInForce = typeof SettingsInForce.static

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

/** Returns settings that a node wrote as JSON; `undefined` without settings that this version can read. */
export function readNotedSettings(json: string | null): SettingsInForce | undefined {
  try {
    const settings: unknown = JSON.parse(json ?? 'null')
    return Value.Check(SettingsInForce, settings) ? settings : undefined
  } catch {
    return undefined
  }
}
