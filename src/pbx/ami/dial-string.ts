// Dial strings of app_dial and app_queue: `PJSIP/101`, `15551234567@trunk`, `SIP/trunk/1555`, `Local/102@ctx/n`.

/**
 * Returns a channel's technology, and its endpoint with the technology: `PJSIP` and `PJSIP/trunk` of
 * `PJSIP/trunk-000000f6`.
 */
export function endpointOf(channel: string): { technology: string; endpoint: string } {
  const slash = channel.indexOf('/')
  const technology = channel.slice(0, slash)
  const rest = channel.slice(slash + 1)
  const dash = rest.lastIndexOf('-')
  const name = dash < 0 ? rest : rest.slice(0, dash)
  // `DAHDI/i1/5551234-1`: the number of the other party is not part of the line's name.
  return { technology, endpoint: `${technology}/${name.split('/')[0] ?? name}` }
}

/** A dialled endpoint, and the number sent to it (`null` if only the endpoint is rung). */
type Dialled = {
  /** Including its technology. */
  readonly endpoint: string
  readonly sent: string | null
  /** `sent` is the user part of a URI: it may be the phone's own. */
  readonly uri: boolean
}

/** Reads one dial string of a technology. */
export function readDialString(dialString: string, technology: string): Dialled {
  const text = dialString.startsWith(`${technology}/`) ? dialString.slice(technology.length + 1) : dialString
  const slash = text.indexOf('/')
  const head = slash < 0 ? text : text.slice(0, slash)
  const tail = slash < 0 ? '' : text.slice(slash + 1)
  const at = head.indexOf('@')
  const endpoint = (name: string): string => `${technology}/${name}`
  if (at >= 0) return { endpoint: endpoint(head.slice(at + 1)), sent: head.slice(0, at), uri: false }
  // `101/sip:101@192.0.2.1:5060` rings one contact of a phone, `trunk/sip:15551234567@192.0.2.1` and
  // `trunk/15551234567` send a number.
  const user = /^(?:sips?:)?([^@/;:]*)@/.exec(tail)?.[1]
  if (user !== undefined) return { endpoint: endpoint(head), sent: user, uri: true }
  if (tail === '' || /^sips?:/.test(tail)) return { endpoint: endpoint(head), sent: null, uri: false }
  return { endpoint: endpoint(head), sent: tail.split('/')[0] ?? tail, uri: false }
}

/** Returns the targets that the first argument of Dial rings at the same time. */
export function readDialTargets(appData: string): string[] {
  return (appData.split(',')[0] ?? '').split('&').filter((target) => target.includes('/'))
}
