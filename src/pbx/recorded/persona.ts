import type { PbxRecording, RecordedStep } from './recording.ts'

/** One client of a replayed PBX, as its persona sees it. */
export type ReplayClient = {
  write(text: string): void
  close(): void
  /** Called when the client is ready for events. */
  begin(): void
  /** Returns the present moment of the recording, in its milliseconds. */
  nowMs(): number
}

/** The conversation with one client: its answers, and the events that it asked for. */
export type Conversation = {
  data(chunk: Uint8Array): void
  wants(step: RecordedStep): boolean
  stop(): void
}

/** Plays an Asterisk or a FreeSWITCH: accepts any login, and lists the channels of that moment of the recording. */
export type Persona = {
  /** Takes a recording. The next one continues with the same PBX, if it is from the same run. */
  load(recording: PbxRecording): { readonly steps: readonly RecordedStep[]; readonly beginMs: number }
  /** Applies a step that happens now. */
  advance(step: RecordedStep): void
  /** Returns whether no channel is up at this moment of the recording. */
  isQuiet(): boolean
  /** Begins the conversation with a new client. */
  connect(client: ReplayClient): Conversation
}
