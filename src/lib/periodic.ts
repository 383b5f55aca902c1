/**
 * Starts a task now and then every `everyMs`, one run at a time. A run ends early when `stopped()` is true, and must
 * not throw.
 */
export function startPeriodic(
  everyMs: number,
  round: (stopped: () => boolean) => Promise<void>,
): { stop(): Promise<void> } {
  let stopped = false
  let running: Promise<void> | undefined
  const start = (): void => {
    running ??= round(() => stopped).finally(() => {
      running = undefined
    })
  }
  const timer = setInterval(start, everyMs)
  start()
  return {
    async stop() {
      stopped = true
      clearInterval(timer)
      await running
    },
  }
}
