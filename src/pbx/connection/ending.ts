import type { SessionEnd } from './protocol.ts'

/** The end of a connection; the first reason counts. */
export type Ending = {
  readonly ended: Promise<SessionEnd>
  isOver(): boolean
  end(kind: SessionEnd['kind'], reason: string): void
}

export function createEnding(): Ending {
  const { promise: ended, resolve } = Promise.withResolvers<SessionEnd>()
  let isOver = false
  return {
    ended,
    isOver: () => isOver,
    end(kind, reason) {
      isOver = true
      resolve({ kind, reason })
    },
  }
}
