import type { PbxSource } from '../source/pbx-url.ts'

type Wire = { write(text: string): void; lost(reason: string): void }

/** The part of a protocol that a recording needs. */
export type Talk = {
  readonly decoder: { readonly consumed: number; readonly fault: string | undefined }
  receive(chunk: Uint8Array): void
  /** Logs in and requests lists; resolves with the reason if that failed. */
  begin(): Promise<string | undefined>
  readonly idleMs: number
  probe(): Promise<boolean>
  close(): void
}

/** Talks to a PBX for a recording. */
export type OpenTalk = (source: PbxSource, wire: Wire) => Talk
