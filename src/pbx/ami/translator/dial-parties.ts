import type { Endpoint } from '../../../calls/calls.ts'
import { bareName, isShortNumber } from '../../endpoints/endpoint-classifier.ts'
import { endpointOf, readDialString } from '../dial-string.ts'
import { type AmiContext, isHelper } from './channels.ts'

// The parties that one Dial rings: several devices of an extension are one party.

/** A target of Dial, as its first argument names it. */
type Target = {
  readonly text: string
  /** What it has in common with its channel: the endpoint, or of a Local channel the target itself. */
  readonly rungName: string
  /** `null`: a Local channel, behind which anybody may be rung. */
  readonly party: Endpoint | null
}

/** A party, as the targets that ring it: one for each device. */
type DialledParty = readonly Target[]

const isLocal = (target: string): boolean => target.startsWith('Local/')

function targetOf(context: AmiContext, text: string): Target {
  if (isLocal(text)) return { text, rungName: text, party: null }
  // An endpoint may have an @ in its own name.
  if (text.includes('@') && context.endpoints.isNamed(text))
    return { text, rungName: text, party: context.endpoints.named(text, null) }
  const { endpoint, sent, uri } = readDialString(text, text.slice(0, text.indexOf('/')))
  return { text, rungName: endpoint, party: context.endpoints.named(endpoint, uri ? null : sent) }
}

/** Returns the parties that these targets ring, in the order of the targets; `place` is the extension that dials. */
export function partiesOf(context: AmiContext, texts: readonly string[], place: string): DialledParty[] {
  const targets = texts.filter((text) => !isHelper(text)).map((text) => targetOf(context, text))
  const keyOf = (target: Target): string => {
    const { party, text } = target
    if (party === null) return text
    const owner = party.kind === 'extension' ? ownerOf(target, targets, place) : undefined
    return `${party.kind} ${owner?.party?.number ?? party.number}`
  }
  return [...Map.groupBy(targets, keyOf).values()]
}

/**
 * Returns the target whose extension has this one as a further device. No event names the extension of a device that
 * never had a channel: its name begins like the other's, or that extension itself dials both.
 */
function ownerOf(target: Target, targets: readonly Target[], place: string): Target | undefined {
  const number = target.party?.number ?? null
  if (number === null) return undefined
  const name = bareName(target.rungName)
  const isOwn = isShortNumber(number)
  return targets.find((other) => {
    if (other === target || other.party?.kind !== 'extension') return false
    const owner = other.party.number ?? ''
    const isNamedAfter = [bareName(other.rungName), owner].some((one) => isDeviceName(name, one))
    if (!isOwn) return isNamedAfter || owner === place
    return owner === place && number.length > owner.length && number.endsWith(owner)
  })
}

/** Returns whether `105-soft` is a device of `105`: something that is no letter or digit follows. */
const isDeviceName = (name: string, owner: string): boolean =>
  owner !== '' && name.startsWith(owner) && /^[^A-Za-z0-9]/.test(name.slice(owner.length))

/** Returns what a rung channel has in common with its target: its endpoint, or of a Local channel the target itself. */
export function rungName(channel: string, targets: readonly string[]): string {
  if (!isLocal(channel)) return endpointOf(channel).endpoint
  // `Local/102@ext/n` is rung as `Local/102@ext-0000000f;1`.
  return targets.find((text) => isLocal(text) && channel.startsWith(`Local/${text.split('/')[1]}-`)) ?? channel
}
