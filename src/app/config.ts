import { readFileSync } from 'node:fs'
import { hasCertificates } from '../lib/certificate-file.ts'
import { wrongUsage } from '../lib/usage.ts'
import { type GivenSettings, readSettings, type Settings } from './settings.ts'

/** The checked and frozen settings of `serve`. */
export type Config = Settings & { readonly firstUser?: { readonly email: string; readonly password: string } }

type Environment = Record<string, string | undefined>

/**
 * Prepares the environment for the command line, which uses it for flags that are not given: `HOOKSWITCH_X_FILE`
 * becomes `HOOKSWITCH_X`, and empty variables are removed.
 */
export function prepareEnvironment(env: Environment, readFile = (path: string) => readFileSync(path, 'utf8')): void {
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('HOOKSWITCH_')) continue
    if (value === '' || value === undefined) delete env[name]
    else if (name.endsWith('_FILE')) env[name.slice(0, -'_FILE'.length)] ??= contentOf(name, value, readFile)
  }
}

function contentOf(name: string, path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path).replace(/\r?\n$/, '')
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw wrongUsage(`${name}: cannot read ${path} (${reason}): give a file that contains the value`)
  }
}

/**
 * Reads the settings from flags and environment.
 * @throws CommanderError (exit code 2) with the first wrong setting and what to do.
 */
export function readConfig(given: GivenSettings, env: Environment, canRead = hasCertificates): Config {
  return frozen({ ...readSettings(given, { canRead }), ...firstUser(env) })
}

function firstUser(env: Environment): Pick<Config, 'firstUser'> {
  const email = env.HOOKSWITCH_USER_EMAIL
  const password = env.HOOKSWITCH_USER_PASSWORD
  if (email === undefined && password === undefined) return {}
  if (email === undefined || password === undefined)
    throw wrongUsage('HOOKSWITCH_USER_EMAIL and HOOKSWITCH_USER_PASSWORD belong together: set both or none')
  return { firstUser: { email, password } }
}

function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}
