/** More channels than a PBX that reports their ends ever has, or than its list may have; some 70 MB. */
const MAX_CHANNELS = 50_000

/** Drops the oldest channel of a translator that knows as many as it may: the PBX does not report their ends. */
export function dropOldest(channels: Map<string, unknown> | Set<string>, most = MAX_CHANNELS): void {
  if (channels.size < most) return
  const { value } = channels.keys().next()
  if (value !== undefined) channels.delete(value)
}
