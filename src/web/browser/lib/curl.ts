/** The request of a delivery as a line for a shell; every value is quoted, since a body holds what a caller chose to be called. */

export type Headers = readonly (readonly [name: string, value: string])[]

export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

export function curlCommand(url: string, headers: Headers, body: string): string {
  const lines = [
    `curl -i -X POST ${shellQuoted(url)}`,
    ...headers.map(([name, value]) => `  -H ${shellQuoted(`${name}: ${value}`)}`),
    `  --data-raw ${shellQuoted(body)}`,
  ]
  return lines.join(' \\\n')
}

/**
 * The headers of one attempt made now, signed with the URL's secret as Standard Webhooks says. The browser signs only in a secure
 * context (https, or localhost); elsewhere, or without a secret, the signature is left out.
 */
export async function requestHeaders(id: string, body: string, secret: string | null, nowMs: number): Promise<Headers> {
  const timestamp = String(Math.floor(nowMs / 1_000))
  const plain: Headers = [
    ['content-type', 'application/json'],
    ['user-agent', 'HookswitchHttpAgent/1.0'],
    ['webhook-id', id],
    ['webhook-timestamp', timestamp],
  ]
  if (secret === null || crypto.subtle === undefined) return plain
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (char) => char.charCodeAt(0))
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`))
  return [...plain, ['webhook-signature', `v1,${btoa(String.fromCharCode(...new Uint8Array(signed)))}`]]
}
