import { SECOND } from '../lib/time.ts'
import type { LiveNode, NodeRecord } from '../store/operations/cluster.ts'
import type { AccountPreset } from '../store/operations/webhooks.ts'
import { accountLease } from './ownership.ts'

/** The presets that the webhooks of accounts need, by the leases of the accounts. */
export type NeededPresets = ReadonlyMap<string, readonly string[]>

/** Returns the presets of other nodes that a node lacks, by name; empty for a node of an earlier version. */
export function lackingPresets(
  { presets }: Pick<NodeRecord, 'presets'>,
  nodes: readonly Pick<NodeRecord, 'presets'>[],
): string[] {
  if (presets === null) return []
  const offered = new Set(nodes.flatMap((node) => node.presets ?? []))
  for (const name of presets) offered.delete(name)
  return [...offered].toSorted()
}

/** A webhook may get a preset at any time. */
const READ_EVERY_US = 5 * SECOND
const NO_NEEDS: NeededPresets = new Map()

type Options = { readonly read: () => Promise<readonly AccountPreset[]> }

/**
 * Knows which presets accounts need that not all nodes have. It reads the webhooks only while nodes differ: else any
 * node can send for any account.
 */
export function newPresetNeeds({ read }: Options) {
  let needs = NO_NEEDS
  /** `undefined`: the nodes have the same presets. */
  let readAtUs: number | undefined

  return {
    needs: (): NeededPresets => needs,

    /** Notes the living nodes; reads the webhooks again if that is due. */
    async noteNodes(nodes: readonly LiveNode[], nowUs: number): Promise<void> {
      const partial = new Set(nodes.flatMap((node) => lackingPresets(node, nodes)))
      if (partial.size === 0) {
        readAtUs = undefined
        needs = NO_NEEDS
        return
      }
      if (readAtUs !== undefined && nowUs - readAtUs < READ_EVERY_US) return
      readAtUs = nowUs
      // A database that does not answer is noticed by the heartbeat.
      const found = await read().catch(() => undefined)
      if (found === undefined || readAtUs !== nowUs) return
      const byAccount = Map.groupBy(
        found.filter(({ preset }) => partial.has(preset)),
        ({ accountId }) => accountId,
      )
      needs = new Map(Array.from(byAccount, ([id, some]) => [accountLease(id), some.map(({ preset }) => preset)]))
    },
  }
}
