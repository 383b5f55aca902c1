/** Runs a round now and every so often, one at a time; a round looks at `stopped` and ends early. It must not throw. */
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
