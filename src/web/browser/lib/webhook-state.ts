import { formatDuration } from '../../../lib/time.ts'
import type { WebhookHealth } from './resources.ts'

type Shown = Pick<WebhookHealth, 'last' | 'paused' | 'down_since' | 'refusing_since'>

/** Writes how a webhook does: `up` only if its receiver accepts what it gets. */
export function describeWebhookState(webhook: Shown, nowMs: number): string {
  const { last, paused, down_since: downSince, refusing_since: refusingSince } = webhook
  const lasting = (since: string) => formatDuration(nowMs - Date.parse(since))
  if (paused) return 'paused: nothing is sent'
  if (downSince !== null) return `down for ${lasting(downSince)}`
  if (refusingSince !== null) return `refuses everything for ${lasting(refusingSince)}`
  return last === null ? 'ready' : 'up'
}
