/**
 * Makes an id, which sorts behind `after` if given. It is a parameter wherever ids are made, so that pure code stays
 * pure and tests are deterministic.
 */
export type NewId = (atUs: number, after?: string) => string

/** Makes a UUIDv7 (RFC 9562). It sorts by the given time (µs), so that the store's indexes grow at their end. */
export const newUuid: NewId = (atUs, after = '') => {
  const id = Bun.randomUUIDv7('hex', Math.floor(atUs / 1_000))
  return id > after ? id : Bun.randomUUIDv7('hex', timeMsOf(after) + 1)
}

/** Returns the time in a UUIDv7: its first 48 bits. */
const timeMsOf = (uuid: string): number => Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16)
