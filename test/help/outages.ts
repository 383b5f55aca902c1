import type { Outage, OutageStore } from '../../src/store/operations/outages.ts'

/** Keeps outages in memory: they survive a restart of the part that reports them. */
export function memoryOutages(): OutageStore {
  const all = new Map<string, Outage>()
  const keyOf = ({ what, key }: Pick<Outage, 'what' | 'key'>) => `${what} ${key}`
  return {
    outageList: async (what) => [...all.values()].filter((one) => one.what === what),
    async outageAdd(outage) {
      if (all.has(keyOf(outage))) return false
      all.set(keyOf(outage), outage)
      return true
    },
    outageRemove: async (outage) => all.delete(keyOf(outage)),
  }
}
