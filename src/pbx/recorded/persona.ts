import type { PbxRecording, RecordedStep } from './recording.ts'

/** One client of a replayed PBX, as its persona sees it. */
export type ReplayClient = {
  write(text: string): void
  close(): void
  /** It is ready: events may begin. */
  begin(): void
  /** Returns the current moment of the recording, in its milliseconds. */
  nowMs(): number
}

/** How one client is answered, and which events it asked for. */
export type Conversation = {
  data(chunk: Uint8Array): void
  wants(step: RecordedStep): boolean
  stop(): void
}

/**
 * Plays the part of an Asterisk or a FreeSWITCH: any login is right, and it knows what is up at that moment of the
 * recording.
 */
export type Persona = {
  /** Takes up a recording. The next one of a row goes on with the PBX of the last, if it is the same run of it. */
  load(recording: PbxRecording): { readonly steps: readonly RecordedStep[]; readonly beginMs: number }
  /** This step happens now. */
  see(step: RecordedStep): void
  /** Whether nothing is up at this moment of the recording. */
  isQuiet(): boolean
  meet(client: ReplayClient): Conversation
}
