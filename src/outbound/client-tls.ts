/**
 * How a webhook takes part in TLS handshakes, in PEM: the certificate that it shows with its key, and the authorities
 * that it trusts in place of the system's.
 */
export type ClientTls = {
  /** A digest of it: a kept connection is used again only for the same one. */
  readonly id: string
  readonly cert?: string
  readonly key?: string
  readonly ca?: string
}

/** Returns the part of it that `fetch` and sockets take. */
export const tlsFieldsOf = ({ cert, key, ca }: ClientTls): Omit<ClientTls, 'id'> => ({
  ...(cert === undefined ? {} : { cert }),
  ...(key === undefined ? {} : { key }),
  ...(ca === undefined ? {} : { ca }),
})
