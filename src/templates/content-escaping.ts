// Apart from `escaping.ts`, so that the thread of the service does not load the engine of templates.

/**
 * The escaping of what a template of a flow's step puts out, by the place where it stands. No value of a caller can
 * change the structure of a body, a URL or a header. Pure.
 */
export type Escaping = 'json' | 'xml' | 'form' | 'url' | 'header' | 'none'

/** Returns the escaping of a body with this content type. */
export function escapingOf(contentType: string): Escaping {
  const [type = ''] = contentType.toLowerCase().split(';')
  if (/^(application|text)\/([\w.-]+\+)?json\s*$/.test(type)) return 'json'
  if (/^(application|text)\/([\w.-]+\+)?xml\s*$|^text\/html\s*$/.test(type)) return 'xml'
  return type.trim() === 'application/x-www-form-urlencoded' ? 'form' : 'none'
}
