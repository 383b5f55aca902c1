import type { StateSubject } from '../../events/kinds.ts'
import type { NowUs } from '../../lib/time.ts'
import type { Store } from '../../store/store.ts'
import { listOf, ownedRows } from './present-list.ts'
import type { OfAccount, StateReader } from './routes.ts'

type Dependencies = {
  readonly store: Pick<Store, 'calls' | 'accounts'>
  readonly pbxs: { entries(): readonly { readonly record: { readonly name: string } }[] }
  readonly nowUs: NowUs
}

/** Creates the reader of the states that are in the store: they are at most a second old while a PBX is watched. */
export function storedStates({ store, pbxs, nowUs }: Dependencies): StateReader {
  /** Returns the states of each PBX and account, by the names of both. */
  async function read<Kind extends StateSubject>(kind: Kind, only: string | undefined) {
    const names = pbxs.entries().map(({ record }) => record.name)
    const wanted = names.filter((name) => only === undefined || name === only)
    const found = await Promise.all(
      wanted.map(async (pbx) => {
        const owned = [...ownedRows(await store.calls.subjectStateList(pbx), nowUs())]
        return [...Map.groupBy(owned, (one) => one.account)]
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([account, rows]) => ({
            of: { account, pbx } satisfies OfAccount,
            states: listOf(
              kind,
              rows.map(({ present }) => present),
            ),
          }))
      }),
    )
    return found.flat()
  }
  return {
    async list(accountId, kind, pbx) {
      const account = await store.accounts.accountGetName(accountId)
      const owned = (await read(kind, pbx)).filter(({ of }) => of.account === account)
      return owned.flatMap(({ of, states }) => states.map((state) => ({ pbx: of.pbx, ...state })))
    },
    listAll: async (kind, pbx) =>
      (await read(kind, pbx)).flatMap(({ of, states }) => states.map((state) => ({ ...of, ...state }))),
  }
}
