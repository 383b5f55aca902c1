import type { Fence } from './cluster.ts'

// The PBXs that the service watches, and their state as the nodes that watch them report it.

/**
 * A PBX comes from the settings (`--pbx`), a command (`store`), or the API. One of the API may only have recordings at
 * the places that the operator of each machine allows.
 */
export type PbxOrigin = 'settings' | 'store' | 'api'

/** A PBX as it is stored. Its URL has its secret. */
export type PbxRecord = {
  readonly name: string
  /**
   * `null`: the PBX was removed, and its row is deleted as soon as its calls have ended and no recording depends on it.
   */
  readonly url: string | null
  readonly origin: PbxOrigin
  /** Random, and new with each change. */
  readonly version: string
  /** Whether the live calls belong to an earlier PBX of this name, and have to be ended. */
  readonly endsCalls: boolean
  /** After a removal: the place of its recordings' files (JSON); `null` if its URL named none. */
  readonly recordings: string | null
}

/** A change of a PBX, made only if its version is still `seenVersion`, which is `null` for a new PBX. */
export type PbxChange = PbxRecord & { readonly seenVersion: string | null }

/** The state of a PBX (JSON) as its owner stored it. */
export type PbxStateRecord = { readonly pbx: string; readonly state: string; readonly atSteadyUs: number }

export type PbxStore = {
  /** Returns all PBXs in the order of their names, also removed ones whose calls are not ended yet. */
  pbxList(): Promise<PbxRecord[]>
  /** Adds or replaces a PBX. Returns false, and changes nothing, if it is not as it was seen. */
  pbxSet(change: PbxChange): Promise<boolean>
  /**
   * Notes that the calls of an earlier PBX of this name have ended, and deletes the memory of that PBX. Deletes the PBX
   * if it was removed, as `pbxDeleteRemoved` does. Returns false, and changes nothing, if the PBX was changed since
   * that version.
   */
  pbxSetCallsEnded(ended: { name: string; version: string }, fence?: Fence): Promise<boolean>
  /**
   * Deletes the PBXs that were removed and whose calls are ended, unless their `recordings` are still read: for pending
   * recordings, and saved ones without a copy. Returns whether there were any.
   */
  pbxDeleteRemoved(): Promise<boolean>
  /**
   * Returns the names that are in the settings of nodes which are alive; `null` if the engine is for one node, and so
   * knows of none.
   */
  pbxListInSettings(): Promise<string[] | null>
  /** Stores the states of PBXs, each once, for the other nodes: one statement, however many they are. */
  pbxStateSetMany(states: readonly PbxStateRecord[], fence?: Fence): Promise<void>
  /** Returns the states of all PBXs, as they were stored last. */
  pbxStateList(): Promise<PbxStateRecord[]>
}
