// A call that was made with `POST /call` begins with a channel whose id holds the id of the request: so its events can
// name the request whatever else happens, and the PBX refuses a second channel for it.

const PREFIX = 'hks-'
const CHANNEL = /^hks-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/

/** Returns the id of the phone's channel in the call of a request. */
export const requestChannel = (requestId: string): string => `${PREFIX}${requestId}`

/** Returns the request for which a channel, or the call that began with it, was made; `null` if it was not. */
export const requestIdOf = (channelId: string): string | null => CHANNEL.exec(channelId)?.[1] ?? null
