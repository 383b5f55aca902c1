/** Returns whether a host is this machine. */
export const isLoopbackHost = (host: string): boolean => /^(127\.|::1$|localhost$)/.test(host)
