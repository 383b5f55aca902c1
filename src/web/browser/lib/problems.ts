import { formatSentence, formatSince } from './format.ts'
import type { Overview, PbxStatus } from './resources.ts'
import { routeHref } from './router.ts'
import { describeTrouble, troubleSince, webhookKey, webhookName } from './webhook-state.ts'

/** The problems of now in one list, each with its begin, cause and remedy. Pure. */
export type Problem = {
  readonly key: string
  readonly title: string
  readonly since: string | null
  readonly what: string
  readonly advice: string
  readonly href: string
  /** The button that leads there. */
  readonly action: string
  /** Whether only administrators see the page to which it leads. */
  readonly isForAdmins: boolean
  /** The URL of a webhook that can be tried at once. */
  readonly triedUrl: string | null
}

/** Returns whether a PBX is not connected, other than for a moment at the start. */
export const isDisconnected = ({ state }: Pick<PbxStatus, 'state'>): boolean => state === 'down' || state === 'refused'

/** Returns the problems of an account: first the PBXs, then the webhooks, each the oldest first. */
export function problemsOf({ pbxs, webhooks }: Pick<Overview, 'pbxs' | 'webhooks'>, nowMs: number): Problem[] {
  const ofPbxs = pbxs.filter(isDisconnected).map((pbx): Problem => pbxProblem(pbx, nowMs))
  const ofWebhooks = webhooks.flatMap((webhook): Problem[] => {
    const since = troubleSince(webhook)
    if (since === null) return []
    const isDown = webhook.down_since !== null
    const { what, advice } = describeTrouble(webhook, nowMs)
    return [
      {
        key: `webhook ${webhookKey(webhook)}`,
        title: `Webhook ${webhookName(webhook)} ${isDown ? 'is down' : 'refuses'}`,
        since,
        what,
        advice,
        href: routeHref('webhooks', webhookKey(webhook)),
        action: 'Open',
        isForAdmins: false,
        triedUrl: isDown && webhook.pending > 0 ? webhook.url : null,
      },
    ]
  })
  return [...oldestFirst(ofPbxs), ...oldestFirst(ofWebhooks)]
}

function pbxProblem({ name, state, since, detail }: PbxStatus, nowMs: number): Problem {
  const isRefused = state === 'refused'
  return {
    key: `pbx ${name}`,
    title: isRefused ? `PBX ${name} refuses the login` : `PBX ${name} is not connected`,
    since,
    what: since === null ? '' : formatSince(since, nowMs),
    advice: formatSentence(`${detail === null ? '' : `${detail.replace(/[.\s]+$/, '')}: `}its calls are not seen`),
    href: routeHref('pbxs', name),
    action: 'Open the PBX',
    isForAdmins: true,
    triedUrl: null,
  }
}

const oldestFirst = (problems: readonly Problem[]): Problem[] =>
  problems.toSorted((one, other) => (one.since ?? '').localeCompare(other.since ?? ''))
