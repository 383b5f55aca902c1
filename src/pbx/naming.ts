import type { Endpoint } from '../calls/signal.ts'
import { cleanText } from './text.ts'

/**
 * Tells extensions from trunks. PBXs do not say which is which; what a dial looks like does: a trunk is dialled with a number
 * (`number@trunk`, `trunk/number`), a phone alone. What was seen is remembered. Before that, names and numbers are guessed from, and
 * the operator's patterns (`trunks`, `extensions`; `*` stands for anything) go before all.
 */
export type Naming = {
  /** Who is behind a channel that calls in. `user`: the PBX knows it as its own (it logged in). */
  caller(name: string, number: string, display: string, user?: boolean): Endpoint
  /** Who is dialled. `sent`: the number that goes with the dial, `null` where the endpoint alone is dialled. */
  callee(name: string, sent: string | null, number: string, display: string): Endpoint
  /** What a dialplan names (`PJSIP/106`, `PJSIP/1555@trunk`), without a channel for it. */
  named(name: string, sent: string | null): Endpoint
}

/** More endpoints than any PBX has: channel names may hold numbers that callers choose. */
const MAX_ENDPOINTS = 10_000

/** Remembers what was set last. */
function newMemory<Value>(): { get(name: string): Value | undefined; set(name: string, value: Value): void } {
  const values = new Map<string, Value>()
  return {
    get: (name) => values.get(name),
    set(name, value) {
      values.delete(name)
      values.set(name, value)
      if (values.size > MAX_ENDPOINTS) values.delete(values.keys().next().value ?? '')
    },
  }
}

const SHORT_NUMBER = /^\d{2,6}$/

export function createNaming(options: { trunks: readonly string[]; extensions: readonly string[] }): Naming {
  const trunks = options.trunks.map(glob)
  const extensions = options.extensions.map(glob)
  const seen = newMemory<'extension' | 'external'>()
  /** The extension of an endpoint whose name is none (`alice`): its own caller id, as the PBX is set up. */
  const numbers = newMemory<string>()

  const configured = (name: string, number: string): 'extension' | 'external' | undefined => {
    if (trunks.some((pattern) => pattern.test(name))) return 'external'
    if (extensions.some((pattern) => pattern.test(name) || pattern.test(number))) return 'extension'
    return extensions.length > 0 && trunks.length === 0 ? 'external' : undefined
  }

  const extension = (name: string, number: string, display: string): Endpoint => {
    if (!SHORT_NUMBER.test(name) && SHORT_NUMBER.test(number)) numbers.set(name, number)
    const own = SHORT_NUMBER.test(name) ? name : (numbers.get(name) ?? name)
    return { kind: 'extension', number: cleanText(own), name: cleanText(display) }
  }

  return {
    caller(name, number, display, user) {
      const kind =
        configured(name, number) ?? (user === true ? 'extension' : undefined) ?? seen.get(name) ?? guess(name, number)
      if (kind === 'extension') return extension(name, number, display)
      const outside = cleanText(number)
      return { kind, number: outside, name: outside === null ? null : cleanText(display) }
    },
    callee(name, sent, number, display) {
      const kind = configured(name, number) ?? (sent === null ? 'extension' : 'external')
      seen.set(name, kind)
      if (kind === 'extension') return extension(name, number, display)
      return { kind, number: cleanText(sent ?? number), name: null }
    },
    named(name, sent) {
      const kind = configured(name, '') ?? (sent === null ? 'extension' : 'external')
      return kind === 'extension' ? extension(name, '', '') : { kind, number: cleanText(sent ?? ''), name: null }
    },
  }
}

/** A name that is a short number, or its own caller's, or that calls with a short number, is a phone; the rest comes from outside. */
function guess(name: string, number: string): 'extension' | 'external' {
  return SHORT_NUMBER.test(name) || name === number || SHORT_NUMBER.test(number) ? 'extension' : 'external'
}

function glob(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}
