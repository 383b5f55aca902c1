import { loggedUrl } from '../lib/shown-url.ts'
import { literalAddress } from './literal-address.ts'
import { isMqttUrl, type MqttUrl, parseMqttUrl } from './mqtt-url.ts'

/** A URL in parts, to be called at an address that was checked. */
export type Target = {
  readonly url: URL
  /** The host if it is an address, which needs no look-up. */
  readonly literal: string | undefined
  /** The name to look up, for SNI and the certificate. */
  readonly name: string
  readonly host: string
  readonly authorization: string | undefined
  /** The URL without `user:pass@` and fragment, for a proxy. */
  readonly plain: string
  /** The URL for logs, redacted. */
  readonly logged: string
  /** The broker and the topic of an MQTT URL; `undefined` for HTTP. */
  readonly broker: MqttUrl | undefined
  /** Returns the URL with an address in place of its name. */
  at(address: string): Destination
}

/**
 * The destination of a request: the URL with an address in place of its name. `address` is `null` behind a proxy;
 * requests to one `origin` may share kept-alive connections.
 */
export type Destination = {
  readonly url: string
  readonly origin: string
  readonly address: string | null
  readonly port: number
}

/** Returns a URL in parts. @throws TypeError for an invalid URL. */
export function targetOf(text: string): Target {
  return isMqttUrl(text) ? brokerTarget(text) : httpTarget(text)
}

/** An MQTT URL as a target: its broker is called at `host` and `port`, never by a URL. */
function brokerTarget(text: string): Target {
  const broker = parseMqttUrl(text)
  if ('problem' in broker) throw new TypeError(broker.problem)
  const { host: url, isTls, port } = broker
  const host = `${url.hostname}:${port}`
  const [, path = ''] = /^[^:]*:\/\/[^/]*(\/.*)$/s.exec(text) ?? []
  const plain = `${isTls ? 'mqtts' : 'mqtt'}://${host}`
  const origin = (address: string) => `${plain} ${address}`
  return {
    url,
    literal: literalAddress(url),
    name: url.hostname.replace(/\.$/, ''),
    host,
    authorization: undefined,
    plain,
    logged: loggedUrl({ protocol: isTls ? 'mqtts:' : 'mqtt:', host, pathname: path, search: '' }),
    broker,
    at: (address) => ({ url: plain, origin: origin(address), address, port }),
  }
}

function httpTarget(text: string): Target {
  const url = new URL(text)
  const { protocol, port, pathname, search, username, password } = url
  const tail = `${port === '' ? '' : `:${port}`}${pathname}${search}`
  // Called at each attempt, nearly always with the same address.
  let last: Destination = { address: '', url: '', origin: '', port: portOf(url) }
  return {
    url,
    literal: literalAddress(url),
    name: url.hostname.replace(/\.$/, ''),
    host: url.host,
    authorization:
      username === '' && password === '' ? undefined : `Basic ${base64(`${decode(username)}:${decode(password)}`)}`,
    plain: `${protocol}//${url.hostname}${tail}`,
    logged: loggedUrl(url),
    broker: undefined,
    at(address) {
      if (address !== last.address) {
        const origin = `${protocol}//${address.includes(':') ? `[${address}]` : address}${port === '' ? '' : `:${port}`}`
        last = { address, url: origin + pathname + search, origin: `${origin} ${url.hostname}`, port: last.port }
      }
      return last
    },
  }
}

/** Returns the port of an HTTP URL. */
export const portOf = ({ port, protocol }: URL): number =>
  port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Decodes percent-encoding; a `%` that encodes nothing is a plain one. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
