import { createLineOutput, type LineLoss, type LineOutput } from './line-output.ts'

/**
 * The two outputs of the process. Flush them before ending the process: `process.exit` does not wait for writes of
 * other threads.
 */

const outputs = new Map<number, LineOutput>()
let reportLoss: (loss: LineLoss) => void = () => {}

function outputOf(fd: number): LineOutput {
  const output = outputs.get(fd) ?? createLineOutput(fd, { onRecovered: (loss) => reportLoss(loss) })
  outputs.set(fd, output)
  return output
}

/** Returns the standard output of the process. */
export const standardOutput = (): LineOutput => outputOf(1)
/** Returns the standard error of the process. */
export const standardError = (): LineOutput => outputOf(2)

/** Sets the function that gets the number of lost lines, once the outputs can be written again. */
export function onLinesLost(report: (loss: LineLoss) => void): void {
  reportLoss = report
}

/** Resolves when both outputs have everything, or after a time. */
export async function flushStandardStreams(withinMs: number): Promise<void> {
  await Promise.all(outputs.values().map((output) => output.flush(withinMs)))
}
