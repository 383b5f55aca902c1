import type { Ownership } from '../../src/cluster/ownership.ts'

/** An ownership that a test changes. At first everything is owned. */
export function changingOwnership() {
  const listeners = new Set<Parameters<Ownership['onChange']>[0]>()
  const lostAccounts = new Set<number>()
  let pbxs: ReturnType<Ownership['pbxOwnership']> = 'owned'
  const ownership: Ownership = {
    isShared: true,
    ownsAccount: (accountId) => !lostAccounts.has(accountId),
    pbxOwnership: () => pbxs,
    ownsMaintenance: () => true,
    isTrusted: () => true,
    fenceOf: () => undefined,
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const changed = async () =>
    void (await Promise.all([...listeners].flatMap((listener) => [...(listener()?.values() ?? [])])))
  return {
    ownership,
    /** Resolves when every listener has stopped its work for lost PBXs. */
    setPbxs(state: ReturnType<Ownership['pbxOwnership']>): Promise<void> {
      pbxs = state
      return changed()
    },
    lose(accountId: number): Promise<void> {
      lostAccounts.add(accountId)
      return changed()
    },
    gain(accountId: number): Promise<void> {
      lostAccounts.delete(accountId)
      return changed()
    },
  }
}
