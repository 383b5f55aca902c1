import { summaryOf } from '../endpoints/endpoint-summary.ts'
import type { PbxService } from './pbx-service.ts'
import type { Watch } from './watch.ts'

/** Returns a function that lists the PBXs of an account with their state and endpoints, for the page. */
export const pbxStatusOf =
  (watch: Pick<Watch, 'endpoints'>, { listOf }: Pick<PbxService, 'listOf'>) =>
  async (accountId: number) => {
    const endpoints = await watch.endpoints(accountId)
    return (await listOf(accountId)).map(({ name, kind, state, since, error }) => ({
      name,
      kind,
      state,
      since,
      detail: error,
      endpoints: summaryOf(endpoints.get(name) ?? []),
    }))
  }
