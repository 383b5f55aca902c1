import { rfc3339 } from '../lib/time.ts'
import { summaryOf } from './endpoint-summary.ts'
import type { Watch } from './watch.ts'

/** Returns a function that gives the PBXs of an account with their state and endpoints, as the page shows them. */
export const pbxStatusOf = (watch: Watch, accountIds: ReadonlyMap<string, number>) => (accountId: number) => {
  const endpoints = watch.endpoints(accountId)
  return watch
    .status()
    .filter((pbx) => accountIds.get(pbx.account) === accountId)
    .map(({ name, kind, state, sinceUs, lastError }) => ({
      name,
      kind,
      state,
      since: rfc3339(sinceUs),
      detail: lastError,
      endpoints: summaryOf(endpoints.get(name) ?? []),
    }))
}
