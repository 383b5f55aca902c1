/** Returns the user of an address: `1004` of `1004@default`. */
export const userOf = (address: string): string => address.split('@')[0] ?? address
