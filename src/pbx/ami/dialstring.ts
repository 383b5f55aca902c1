/** What app_dial and app_queue are told to ring: `PJSIP/101`, `15551234567@trunk`, `SIP/trunk/1555`, `Local/102@ctx/n`. */

/** A channel's technology and endpoint: `PJSIP/trunk-000000f6` is `PJSIP`, `trunk`. */
export function endpointOf(channel: string): { technology: string; name: string } {
  const slash = channel.indexOf('/')
  const rest = channel.slice(slash + 1)
  const dash = rest.lastIndexOf('-')
  return { technology: channel.slice(0, slash), name: dash < 0 ? rest : rest.slice(0, dash) }
}

/** What is dialled: an endpoint, and the number sent to it (`null` if the endpoint alone is rung). */
export function readDialString(dialString: string, technology: string): { name: string; sent: string | null } {
  const text = dialString.startsWith(`${technology}/`) ? dialString.slice(technology.length + 1) : dialString
  const slash = text.indexOf('/')
  const head = slash < 0 ? text : text.slice(0, slash)
  const tail = slash < 0 ? '' : text.slice(slash + 1)
  const at = head.indexOf('@')
  if (at >= 0) return { name: head.slice(at + 1), sent: head.slice(0, at) }
  // `101/sip:101@192.0.2.1:5060` rings one contact of a phone; `trunk/15551234567` sends a number.
  if (tail === '' || /^sips?:/.test(tail) || tail.includes('@')) return { name: head, sent: null }
  return { name: head, sent: tail.split('/')[0] ?? tail }
}

/** The first argument of Dial: what is rung at the same time. */
export function readDialTargets(appData: string): string[] {
  return (appData.split(',')[0] ?? '').split('&').filter((target) => target.includes('/'))
}
