import manifest from '../../package.json' with { type: 'json' }

/** The version of package.json. */
export const VERSION: string = manifest.version
