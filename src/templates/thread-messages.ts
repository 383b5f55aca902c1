import type { Escaping } from './content-escaping.ts'
import type { Problem } from './template.ts'

/** Messages to the thread that renders templates. Its data is JSON text, as the store has it. */
export type ToThread = { readonly progress: SharedArrayBuffer } | RenderBatch

export type RenderBatch = {
  /** Templates that are new to this thread, by number. */
  readonly texts: ReadonlyMap<number, SentTemplate>
  /** Drops all earlier templates first. */
  readonly forget: boolean
  readonly jobs: readonly ThreadJob[]
}

export type SentTemplate = { readonly text: string; readonly escaping: Escaping | undefined }

export type ThreadJob = {
  readonly data: string
  readonly templates: readonly { readonly number: number; readonly isJson: boolean; readonly isOnlyParsed: boolean }[]
}

/** The answers of the thread: one when it is ready, then one for each batch. */
export type FromThread =
  | { readonly ready: { readonly task: string | undefined } }
  /** Results of the jobs in order; jobs after `leave` are missing. */
  | { readonly results: readonly JobResult[] }

export type JobResult = {
  readonly renderings: readonly ThreadRendering[]
  /** The CPU time of the job, exact on average only, since the system counts in ticks. */
  readonly tookUs: number
  readonly units: number
}

export type ThreadRendering = { readonly text: string } | Problem

/**
 * The memory shared with the watching thread, 32-bit integers, which can be read while this thread is busy: the job and
 * template that it renders, and the first job that it leaves to another thread.
 */
export const PROGRESS = { job: 0, template: 1, leave: 2 } as const
export const PROGRESS_BYTES = 4 * Object.keys(PROGRESS).length
