/**
 * The request of a delivery as a shell command. Every value is quoted, because a body holds names that callers chose.
 */

export type Headers = readonly (readonly [name: string, value: string])[]

/** Quotes a text so that a shell takes it as one argument, regardless of its characters. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns the curl command that sends this request. */
export function curlCommand(url: string, headers: Headers, body: string): string {
  const lines = [
    `curl -i -X POST ${quoteForShell(url)}`,
    ...headers.map(([name, value]) => `  -H ${quoteForShell(`${name}: ${value}`)}`),
    `  --data-raw ${quoteForShell(body)}`,
  ]
  return lines.join(' \\\n')
}

/**
 * Returns the headers of an attempt made now, signed with the URL's secret as Standard Webhooks specifies. The browser
 * signs only in a secure context (https, or localhost); elsewhere, or without a secret, the signature is left out.
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
