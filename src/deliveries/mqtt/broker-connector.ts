import type { AllowList } from '../../outbound/address-guard.ts'
import { wasNotConnected } from '../../outbound/attempt-failure.ts'
import type { ClientTls } from '../../outbound/client-tls.ts'
import { TIMEOUT_MS } from '../../outbound/guarded-request.ts'
import { newResolver, type Resolve } from '../../outbound/resolver.ts'
import type { Target } from '../../outbound/target.ts'
import { createBrokerAddresses, THROUGH_PROXY } from './broker-addresses.ts'
import { type BrokerConnection, connectToBroker } from './broker-connection.ts'
import type { Incoming, Will } from './session.ts'

type ConnectorOptions = {
  readonly allow: AllowList
  /** An egress proxy: MQTT does not go through it, so nothing is connected. */
  readonly proxy?: string | undefined
  readonly resolve?: Resolve
}

/** A client that also reads the retained messages of a broker. */
type Client = { readonly will: Will; readonly onMessage: (message: Incoming) => void }

/**
 * Creates the function that connects to the broker of a webhook, at a checked address, as an attempt does.
 * @throws Error when that is not possible.
 */
export function createBrokerConnector({ allow, proxy, resolve = newResolver() }: ConnectorOptions) {
  const addressesOf = createBrokerAddresses(allow, resolve)
  return (target: Target, tls: ClientTls | undefined) =>
    async ({ will, onMessage }: Client): Promise<BrokerConnection> => {
      const { broker, literal, name } = target
      if (broker === undefined) throw new Error('an HTTP webhook has no broker')
      if (proxy !== undefined) throw new Error(THROUGH_PROXY)
      const addresses = await addressesOf(target)
      const options = { broker, name: literal ?? name, tls, version: 5, will, onMessage } as const
      for (const [at, address] of addresses.entries())
        try {
          const signal = new AbortController().signal
          return await connectToBroker({ ...options, address, withinMs: TIMEOUT_MS, connectMs: TIMEOUT_MS, signal })
        } catch (error) {
          if (!wasNotConnected(error) || at + 1 === addresses.length) throw error
        }
      throw new Error('no address is left')
    }
}
