/** Returns a URL with its user and password replaced by `***`. */
export const maskedUrl = (url: string): string => url.replace(/^(\w+:\/\/)[^/?#]*@/, '$1***@')
