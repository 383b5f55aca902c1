import { randomBytes } from 'node:crypto'
import type { RecordingRef } from '../store/operations/recordings.ts'
import type { Store } from '../store/store.ts'
import { isLinkValid, type LinkQuery, signedPath } from './link-signature.ts'

/** Makes a new key of links. */
export const newLinkKey = (): string => randomBytes(32).toString('base64url')

/** Links that open a recording without a token. */
export type Links = {
  /** Returns the link to a recording that goes out in events and records; `null` without a public URL. */
  urlOf(ref: RecordingRef): string | null
  /** Returns the path of a link that is valid for `validMs`, and its expiry in microseconds. */
  pathOf(ref: RecordingRef, validMs: number): { path: string; untilUs: number }
  /** Returns whether a link opens a recording now. */
  isValid(ref: RecordingRef, query: LinkQuery): Promise<boolean>
  /** Reads the key again: it may have been replaced. */
  reload(): Promise<void>
}

type LinksOptions = {
  readonly recordings: Store['recordings']
  readonly publicUrl: string | undefined
  readonly validMs: number
  readonly nowUs: () => number
}

/** Reads the key of links, or makes one. */
export async function openLinks({ recordings, publicUrl, validMs, nowUs }: LinksOptions): Promise<Links> {
  let key = (await recordings.linkKeyGet()) ?? (await recordings.linkKeyAdd(newLinkKey()))
  const nowS = () => Math.floor(nowUs() / 1_000_000)
  const base = publicUrl?.replace(/\/+$/, '')
  const expiryOf = (ms: number) => nowS() + Math.ceil(ms / 1_000)
  return {
    urlOf: (ref) => (base === undefined ? null : base + signedPath(key, ref, expiryOf(validMs))),
    pathOf(ref, ms) {
      const expiresS = expiryOf(ms)
      return { path: signedPath(key, ref, expiresS), untilUs: expiresS * 1_000_000 }
    },
    // The key is read each time, so that no node accepts a replaced one.
    isValid: async (ref, query) => isLinkValid((await recordings.linkKeyGet()) ?? key, ref, query, nowS()),
    async reload() {
      key = (await recordings.linkKeyGet()) ?? key
    },
  }
}
