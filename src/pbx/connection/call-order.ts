import type { TenantRule } from '../source/pbx-url.ts'

/**
 * A call to make: a phone rings, and when it is answered a number is dialled in the dialplan as that phone would. Only
 * `to` and `name` come from a request, checked by originate/number.ts; all else from the PBX and its URL.
 */
export type CallOrder = {
  /** The id of the phone's channel: the PBX refuses a second channel with it, so no order makes two calls. */
  readonly channelId: string
  readonly to: string
  /** The name that the phone shows beside the number; empty: the number alone. */
  readonly name: string
  readonly phone: OrderedPhone
}

/** The phone that rings. */
type OrderedPhone = {
  readonly extension: string
  /** Its name in the PBX: `PJSIP/101`, `1001@example.org`. */
  readonly endpoint: string
  /** Its display name; empty if it has none. */
  readonly name: string
  /** The tenant value of the phone, as the PBX spells it; `null` on a PBX of one customer. */
  readonly tenant: string | null
}

/**
 * The answer of a PBX. `made`: it has the call. `refused`: there is no call, with the reason. `unanswered`: nobody
 * knows whether there is one, since the command was sent and no answer came.
 */
export type CallAnswer =
  | { readonly kind: 'made' }
  | { readonly kind: 'refused' | 'unanswered'; readonly reason: string }

/**
 * Has calls made on a PBX, over a connection for each command. A command is sent once, whatever happens then.
 */
export type CallMaker = {
  /** `seen` resolves when the call is seen among the events of the PBX: it waits for no other answer then. */
  call(order: CallOrder, seen: Promise<void>): Promise<CallAnswer>
  /** Hangs up channels; `refused` only if none was hung up. */
  hangUp(channelIds: readonly string[]): Promise<CallAnswer>
}

/** The times for which a call is waited for. */
export type CallTimeouts = {
  /** From the start to the answer to the command, which includes connecting and logging in. */
  readonly answerMs: number
  /** How long the failure of a call is waited for that the PBX has accepted. */
  readonly failureMs: number
}

export const CALL_TIMEOUTS: CallTimeouts = { answerMs: 5_000, failureMs: 3_000 }

/** How the new channel shows its customer. */
type TenantMark =
  | { readonly kind: 'none' }
  | { readonly kind: 'accountcode' | 'context'; readonly value: string }
  | { readonly kind: 'variable'; readonly name: string; readonly value: string }

/** Returns how the channel of a phone shows its customer; the domain of a FreeSWITCH is in the phone's name. */
export function tenantMarkOf(rule: TenantRule | undefined, { tenant }: OrderedPhone): TenantMark {
  if (rule === undefined || tenant === null || rule.by === 'domain') return { kind: 'none' }
  if (rule.by !== 'variable') return { kind: rule.by, value: tenant }
  return rule.variable === null ? { kind: 'none' } : { kind: 'variable', name: rule.variable, value: tenant }
}
