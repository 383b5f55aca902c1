import { ownLicense, thirdPartyNotices } from './third-party-notices.ts' with { type: 'macro' }

// A module of its own, so that they are read when they are printed, and not whenever a command runs from its sources.

/** Of Hookswitch, and of all that is inside it: written into the executable when it is built. */
export const OWN_LICENSE = ownLicense()
export const NOTICES = thirdPartyNotices()
