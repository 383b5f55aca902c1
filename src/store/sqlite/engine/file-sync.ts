import { fdatasyncSync, openSync } from 'node:fs'

/** The pause between two syncs: a fast disk writes some 10 MB meanwhile, and no other write waits long behind them. */
const PAUSE_MS = 20

/** Syncs the file whose path it is sent, again and again. Runs in a thread, which is ended from outside. */
export function serveFileSync(port: Pick<Worker, 'onmessage' | 'postMessage'>): void {
  port.onmessage = ({ data: path }: MessageEvent<string>) => {
    const file = openSync(path, 'r')
    const sync = () => {
      fdatasyncSync(file)
      setTimeout(sync, PAUSE_MS)
    }
    sync()
    port.postMessage('syncing')
  }
}

/**
 * Does work that writes a large file and blocks this thread, while another thread syncs what is written. Otherwise all
 * of it would reach the disk at its end, and a service on the same disk would wait that long for a commit.
 */
export async function syncedMeanwhile<Result>(
  startThread: () => Worker,
  path: string,
  work: () => Result,
): Promise<Result> {
  const thread = startThread()
  try {
    await new Promise<void>((resolve, reject) => {
      thread.onmessage = () => resolve()
      thread.onerror = ({ message }) => reject(new Error(message))
      thread.postMessage(path)
    })
    return work()
  } finally {
    thread.terminate()
  }
}
