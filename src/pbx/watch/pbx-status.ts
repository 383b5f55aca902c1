import { summaryOf } from '../endpoints/endpoint-summary.ts'
import { type PbxList, sourcesOfAccount } from './pbx-list.ts'
import type { PbxService } from './pbx-service.ts'
import type { Watch } from './watch.ts'

type Dependencies = {
  readonly watch: Pick<Watch, 'endpoints'>
  readonly service: Pick<PbxService, 'listOf'>
  readonly list: Pick<PbxList, 'sources' | 'accounts'>
}

/** Returns a function that lists the PBXs of an account with their state and endpoints, for the page. */
export const pbxStatusOf =
  ({ watch, service, list }: Dependencies) =>
  async (accountId: number) => {
    const endpoints = await watch.endpoints(accountId)
    const callable = sourcesOfAccount(list, accountId).filter(({ calls }) => calls !== undefined)
    const calling = new Set(callable.map(({ name }) => name))
    return (await service.listOf(accountId)).map(({ name, kind, state, since, error }) => ({
      name,
      kind,
      state,
      since,
      detail: error,
      calls: calling.has(name),
      endpoints: summaryOf(endpoints.get(name) ?? []),
    }))
  }
