/**
 * The leases under which an owner writes, each with the term in which it was taken: arrays of one length. If one of them was taken over
 * since, nothing of the operation is written and it rejects with LeasesLostError. An engine for one node has no leases and reads no fence.
 */
export type Fence = { readonly leaseNames: readonly string[]; readonly terms: readonly string[] }

/** Nothing of an operation was written, since another node has taken these leases over. */
export class LeasesLostError extends Error {
  override readonly name = 'LeasesLostError'
  readonly leaseNames: readonly string[]

  constructor(leaseNames: readonly string[]) {
    super(`taken over by another node: ${leaseNames.join(', ')}`)
    this.leaseNames = leaseNames
  }
}
