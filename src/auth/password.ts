import type { FieldError } from '../lib/fault.ts'
import { NO_PASSWORD } from '../store/operations/accounts.ts'
import { createFairTurns, type TurnSource } from './fair-turns.ts'
import { MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARACTERS } from './model.ts'

/** Each hash takes 64 MiB and a core for some 85 ms. */
const MAX_AT_ONCE = 4
/** A later request would be answered after more than 10 s: it is refused at once instead. */
const MAX_WAITING = 500

const TOO_LONG = `may have ${MAX_PASSWORD_BYTES} bytes at most`

const ARGON2ID = { algorithm: 'argon2id', memoryCost: 65_536, timeCost: 2 } as const
/**
 * The hash of an unknown random password. It is verified for unknown users, so that the response takes the same time.
 */
const UNKNOWN_USER_HASH =
  '$argon2id$v=19$m=65536,t=2,p=1$kv49/8UzlzjhAoyl9C4pRRZtIJF4y6gg+L4SNWZbqkM$KYhdI6u+vQC1FLfCv/HZL7nj8i8V8QGenGZAN8Yr4HI'

/** Returns why a new password is not acceptable, to follow the word "password"; `undefined` if it is. */
export function passwordProblem(password: string): string | undefined {
  if ([...password].length < MIN_PASSWORD_CHARACTERS) return `must have ${MIN_PASSWORD_CHARACTERS} characters at least`
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return TOO_LONG
  return undefined
}

/** Checks a login for what its schema cannot express: the length of the password in bytes. */
export const loginRule = (body: unknown): FieldError[] => tooLong(body, 'password')

function tooLong(body: unknown, field: string): FieldError[] {
  const text: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, field) : undefined
  return typeof text === 'string' && Buffer.byteLength(text) > MAX_PASSWORD_BYTES
    ? [{ path: `/${field}`, message: TOO_LONG }]
    : []
}

/**
 * Checks a password change for what its schema cannot express: the length in characters and bytes, and that both
 * passwords are equal.
 */
export function passwordRule(body: unknown): FieldError[] {
  if (typeof body !== 'object' || body === null) return []
  const password: unknown = Reflect.get(body, 'password')
  const confirmation: unknown = Reflect.get(body, 'password_confirmation')
  const errors = tooLong(body, 'old_password')
  const problem = typeof password === 'string' ? passwordProblem(password) : undefined
  if (problem !== undefined) errors.push({ path: '/password', message: problem })
  if (typeof confirmation === 'string' && confirmation !== password)
    errors.push({ path: '/password_confirmation', message: 'is not the same as the new password' })
  return errors
}

export type Passwords = {
  hash(password: string, source?: TurnSource): Promise<string>
  /**
   * Returns whether a password matches. For a user that does not exist (`undefined`) it is false after the same time.
   */
  verify(password: string, hash: string | undefined, source?: TurnSource): Promise<boolean>
}

/** The source of passwords that no client sends. */
const THIS_PROCESS: TurnSource = { network: '', user: '' }

/**
 * Creates the hashing of passwords, a few at a time on Bun's own threads, with turns for those who send them. Its
 * functions throw Fault `too_many_requests` when too many wait.
 */
export function createPasswords(): Passwords {
  const inTurn = createFairTurns({ atOnce: MAX_AT_ONCE, maxWaiting: MAX_WAITING })
  return {
    hash: (password, source = THIS_PROCESS) => inTurn(source, () => Bun.password.hash(password, ARGON2ID)),
    async verify(password, hash, source = THIS_PROCESS) {
      const usable = password !== '' && Buffer.byteLength(password) <= MAX_PASSWORD_BYTES
      const isSet = hash !== undefined && hash !== NO_PASSWORD
      const compared = isSet ? hash : UNKNOWN_USER_HASH
      const same = await inTurn(source, () => Bun.password.verify(usable ? password : 'none', compared))
      return same && usable && isSet
    },
  }
}
