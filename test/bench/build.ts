import { join, resolve } from 'node:path'
import { buildOnce, EXECUTABLE, emptyFolder } from '../help/app.ts'

const ROOT = resolve(import.meta.dir, '../..')

/** A build to measure: its sources and its executable. */
export type Build = { readonly name: string; readonly root: string; readonly executable: string }

/** Returns a build of this folder and one of each commit; each commit is checked out into a temporary folder. */
export async function buildsOf(commits: readonly string[]): Promise<Build[]> {
  await buildOnce()
  const builds = [{ name: 'now', root: ROOT, executable: EXECUTABLE }]
  for (const commit of commits) {
    const folder = emptyFolder()
    process.on('exit', () => folder[Symbol.dispose]())
    await run(['sh', '-c', 'git archive "$1" | tar -x -C "$2"', 'sh', commit, folder.path], ROOT)
    await run(['bun', 'install', '--frozen-lockfile'], folder.path)
    await run(['bun', 'run', 'build'], folder.path)
    builds.push({ name: commit, root: folder.path, executable: join(folder.path, 'dist/hookswitch') })
  }
  return builds
}

async function run(command: string[], cwd: string): Promise<void> {
  const child = Bun.spawn(command, { cwd, stdout: 'ignore', stderr: 'pipe' })
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${await new Response(child.stderr).text()}`)
}

export const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
