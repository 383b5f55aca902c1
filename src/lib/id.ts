/** Makes an id. Injected wherever ids are made, so that pure code stays pure and tests can count. */
export type NewId = (atUs: number) => string

/** UUIDv7 (RFC 9562): sorts by the time given, so that the store's indexes grow at their end. */
export const newUuid: NewId = (atUs) => Bun.randomUUIDv7('hex', Math.floor(atUs / 1_000))
