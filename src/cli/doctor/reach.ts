import { connectToBroker } from '../../deliveries/deliveries.ts'
import { type AllowList, addressRefusal, newAddressGuard } from '../../outbound/address-guard.ts'
import { reasonOf } from '../../outbound/attempt-failure.ts'
import { type ClientTls, tlsFieldsOf } from '../../outbound/client-tls.ts'
import { USER_AGENT } from '../../outbound/guarded-request.ts'
import type { MqttUrl } from '../../outbound/mqtt-url.ts'
import { newResolver, type Resolve } from '../../outbound/resolver.ts'
import type { Target } from '../../outbound/target.ts'

/** The result of reaching a receiver. `clockMs` is its `Date` header. */
type Reach =
  | {
      readonly kind: 'reached'
      readonly address: string
      /** `null`: an MQTT broker, which accepted the connection. */
      readonly status: number | null
      readonly clockMs: number | undefined
    }
  | { readonly kind: 'refused' | 'unreachable'; readonly reason: string }

const TIMEOUT_MS = 10_000

/**
 * Resolves a receiver's name, checks its addresses as an attempt does, and sends a HEAD request (no event) to the first
 * that may be called, or logs in to a broker.
 */
export async function reach(
  { target, tls }: { readonly target: Target; readonly tls?: ClientTls | undefined },
  allow: AllowList,
  resolve: Resolve = newResolver(),
): Promise<Reach> {
  const refusalOf = newAddressGuard(allow)
  try {
    const found = target.literal === undefined ? await resolve(target.name) : [target.literal]
    const address = found.find((one) => refusalOf(one) === undefined)
    if (address === undefined) {
      const reason = found[0] === undefined ? 'the name has no address' : (addressRefusal(found[0], allow) ?? '')
      return { kind: 'refused', reason }
    }
    if (target.broker !== undefined)
      return await reachBroker(target.broker, { name: target.literal ?? target.name, address, tls })
    const own = tls === undefined ? {} : tlsFieldsOf(tls)
    const pinned = target.literal === undefined && target.url.protocol === 'https:'
    const { status, headers } = await fetch(target.at(address).url, {
      method: 'HEAD',
      headers: { host: target.host, 'user-agent': USER_AGENT },
      redirect: 'manual',
      proxy: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      tls: pinned ? { ...own, serverName: target.name } : own,
    })
    const date = Date.parse(headers.get('date') ?? '')
    return { kind: 'reached', address, status, clockMs: Number.isNaN(date) ? undefined : date }
  } catch (error) {
    return { kind: 'unreachable', reason: reasonOf(error, TIMEOUT_MS) }
  }
}

/** Logs in to a broker, and publishes nothing. */
async function reachBroker(
  broker: MqttUrl,
  { name, address, tls }: { readonly name: string; readonly address: string; readonly tls: ClientTls | undefined },
): Promise<Reach> {
  const connection = await connectToBroker({
    broker,
    address,
    name,
    tls,
    version: 5,
    withinMs: TIMEOUT_MS,
    connectMs: TIMEOUT_MS,
    signal: new AbortController().signal,
  })
  connection.close()
  return { kind: 'reached', address, status: null, clockMs: undefined }
}
