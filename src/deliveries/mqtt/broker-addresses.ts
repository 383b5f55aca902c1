import { type AllowList, newAddressGuard } from '../../outbound/address-guard.ts'
import { refusal } from '../../outbound/guarded-request.ts'
import type { Resolve } from '../../outbound/resolver.ts'
import type { Target } from '../../outbound/target.ts'

export const THROUGH_PROXY =
  'MQTT is not sent through --proxy, which is for HTTP: without that setting it is sent directly, to the addresses that --allow-net allows'

/** The most addresses of a name that are tried. */
const MAX_ADDRESSES = 3

/**
 * Creates the function that returns the allowed addresses of a broker, at most three.
 * @throws Error when none is allowed, or the name has none.
 */
export function createBrokerAddresses(allow: AllowList, resolve: Resolve) {
  const refusalOf = newAddressGuard(allow)
  return async (target: Target): Promise<readonly string[]> => {
    const found = target.literal === undefined ? await resolve(target.name) : [target.literal]
    const allowed = found.filter((one) => refusalOf(one) === undefined)
    if (allowed.length === 0) throw new Error(refusal(target, found[0], refusalOf))
    return allowed.slice(0, MAX_ADDRESSES)
  }
}
