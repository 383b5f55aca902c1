/**
 * Returns whether an `If-None-Match` header names the entity tag, in any place of its list and without regard to `W/`
 * (RFC 9110, 13.1.2): a proxy that compresses makes tags weak.
 */
export function matchesAny(header: string | null, etag: string): boolean {
  const plain = (tag: string) => tag.trim().replace(/^W\//, '')
  return (header ?? '').split(',').some((tag) => tag.trim() === '*' || plain(tag) === plain(etag))
}
