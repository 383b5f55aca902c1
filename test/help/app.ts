import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dir, '../..')
export const EXECUTABLE = join(ROOT, 'dist/hookswitch')
const READY_WITHIN_MS = 300_000

let built: Promise<void> | undefined

/** Builds the executable once in a run of the tests; `bun run test` has built it already and sets a variable. */
export function buildOnce(): Promise<void> {
  built ??= build()
  return built
}

async function builtExecutable(): Promise<string> {
  await buildOnce()
  return EXECUTABLE
}

async function build(): Promise<void> {
  if (process.env.HOOKSWITCH_TEST_BUILT === '1' && existsSync(EXECUTABLE)) return
  const child = Bun.spawn(['bun', 'run', 'build'], { cwd: ROOT, stdout: 'pipe', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(`the build failed: ${await new Response(child.stderr).text()}`)
}

/** Creates an empty folder, which is removed when the test is over. */
export function emptyFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), 'hookswitch-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

type Ran = { code: number; stdout: string; stderr: string }

/** Runs one command of the executable to its end, in `cwd`, with only the given environment. */
export async function run(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; stdin?: string; executable?: string },
): Promise<Ran> {
  const { executable = await builtExecutable() } = options
  const child = Bun.spawn([executable, ...args], {
    cwd: options.cwd,
    env: options.env ?? {},
    stdin: new Blob([options.stdin ?? '']),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

export type RunningApp = {
  url: string
  pid: number
  cwd: string
  /** All that it has printed so far. */
  output(): string
  /** Sends a signal and waits for the end. @returns the exit code, or the signal that ended it. */
  stop(signal?: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): Promise<number | string>
}

/** Starts `serve` of the executable on a free port, and waits until it reports that it is ready. */
export function startServe(options: {
  cwd: string
  args?: readonly string[]
  env?: Record<string, string>
  /** Another build than this one. */
  executable?: string | undefined
}): Promise<RunningApp> {
  const args = ['serve', '--listen', '127.0.0.1:0', ...(options.args ?? [])]
  return start(args, { ...options, ready: /^hookswitch ready on (\S+)$/m })
}

/** Starts a command of the executable that serves until it is stopped; `ready` finds the URL in its output. */
export async function start(
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; ready: RegExp; executable?: string | undefined },
): Promise<RunningApp> {
  const { executable = await builtExecutable() } = options
  const child = Bun.spawn([executable, ...args], {
    cwd: options.cwd,
    env: options.env ?? {},
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let printed = ''
  const collect = async (stream: ReadableStream<Uint8Array>, onText: () => void) => {
    const decoder = new TextDecoder()
    for await (const chunk of stream) {
      printed += decoder.decode(chunk, { stream: true })
      onText()
    }
  }
  const { promise: ready, resolve: isReady, reject: isNotReady } = Promise.withResolvers<string>()
  const findUrl = () => {
    const url = options.ready.exec(printed)?.[1]
    if (url !== undefined) isReady(url)
  }
  const collected = Promise.all([collect(child.stdout, findUrl), collect(child.stderr, findUrl)])
  const timer = setTimeout(() => isNotReady(new Error(`not ready in time: ${printed}`)), READY_WITHIN_MS)
  void collected.then(() => isNotReady(new Error(`it ended before it was ready: ${printed}`)))
  const url = await ready.finally(() => clearTimeout(timer))
  return {
    url,
    pid: child.pid,
    cwd: options.cwd,
    output: () => printed,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await child.exited
      await collected
      return child.exitCode ?? child.signalCode ?? 'unknown'
    },
  }
}
