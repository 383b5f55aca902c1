// Which node owns an account or a PBX: leases, members, shares. Knows leases by their names alone.

export { newClockSkew, newDatabaseClock } from './database-clock.ts'
export { createLeaseKeeper, type LeaseKeeper } from './lease-keeper.ts'
export { NODE_STATES, stateOfNode } from './leases.ts'
export { offeredPresets } from './offered-presets.ts'
export { accountLease, MAINTENANCE_LEASE, OWNS_EVERYTHING, type Ownership, ownedBy, pbxLease } from './ownership.ts'
export { lackingPresets, newPresetNeeds } from './preset-needs.ts'
