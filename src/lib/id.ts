/** Makes an id. It is a parameter wherever ids are made, so that pure code stays pure and tests are deterministic. */
export type NewId = (atUs: number) => string

/** Makes a UUIDv7 (RFC 9562). It sorts by the given time (µs), so that the store's indexes grow at their end. */
export const newUuid: NewId = (atUs) => Bun.randomUUIDv7('hex', Math.floor(atUs / 1_000))
