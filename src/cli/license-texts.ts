import { ownLicense, thirdPartyNotices } from './third-party-notices.ts' with { type: 'macro' }

// A file of its own, so that the licences are read only when they are printed.

/** The licences of Hookswitch and of all software in it, written into the executable when it is built. */
export const OWN_LICENSE = ownLicense()
export const NOTICES = thirdPartyNotices()
