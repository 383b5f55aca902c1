import { createSecureContext, createServer, type TLSSocket } from 'node:tls'
import type { Certified } from './certificate.ts'

/** A request over TLS: its connection, the server name of the handshake, and the name in the request. */
type Secured = {
  readonly connection: number
  readonly sni: string | undefined
  readonly host: string | undefined
  /** The name in the client certificate, if it asks for one. */
  readonly client?: string
}

/**
 * A receiver that speaks HTTPS and shows each server name its own certificate; clients without a known name get the one
 * under `''`.
 */
export async function startTlsReceiver(
  certificates: Readonly<Record<string, Certified>>,
  /** The authority of the client certificates that it asks for. */
  clientAuthority?: string,
) {
  const requests: Secured[] = []
  const sockets = new Set<TLSSocket>()
  let connections = 0
  const contexts = new Map(Object.entries(certificates).map(([name, made]) => [name, createSecureContext(made)]))
  const server = createServer(
    {
      ...certificates[''],
      ...(clientAuthority === undefined ? {} : { ca: clientAuthority, requestCert: true, rejectUnauthorized: true }),
      SNICallback: (name, answer) => answer(null, contexts.get(name) ?? contexts.get('')),
    },
    (socket) => {
      connections += 1
      const connection = connections
      const { servername } = socket as TLSSocket & { servername?: string | false }
      sockets.add(socket)
      let text = ''
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        text += bytes.toString()
        for (let end = endOf(text); end <= text.length; end = endOf(text)) {
          const host = /^host: (\S+)\r$/im.exec(text)?.[1]
          const client =
            clientAuthority === undefined ? {} : { client: String(socket.getPeerCertificate().subject?.CN) }
          requests.push({ connection, sni: servername === false ? undefined : servername, host, ...client })
          text = text.slice(end)
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        }
      })
    },
  )
  server.on('tlsClientError', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    requests,
    [Symbol.dispose](): void {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Returns where the first request ends. */
function endOf(text: string): number {
  const head = text.indexOf('\r\n\r\n')
  if (head < 0) return Number.POSITIVE_INFINITY
  return head + 4 + Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, head + 2))?.[1] ?? 0)
}
