import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { emptyFolder } from './help/app.ts'
import type { Emitted } from './help/play-recordings.ts'
import { FIXTURES } from './help/recording.ts'

// bun run compare COMMIT [FOLDER…]: plays all recordings through the sources of a commit and through those of this folder,
// and prints what they emit differently, in full words, and how much earlier or later. A FOLDER has further recordings, in
// asterisk/ and freeswitch/. Exits with 1 if a recording differs.

const ROOT = resolve(import.meta.dir, '..')

async function run(command: readonly string[], cwd = ROOT): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stderr: 'pipe' })
  const [code, text, errors] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  // Of git diff: 1 says that something differs.
  if (code > 1 || errors !== '') throw new Error(`${command.join(' ')}: ${errors || `exits with ${code}`}`)
  return text
}

/** Makes a tree of a commit's sources with the tests' help of this folder, which plays recordings in both the same way. */
async function checkOut(commit: string, path: string): Promise<void> {
  mkdirSync(path)
  await run(['sh', '-c', 'git archive "$1" src package.json tsconfig.json | tar -x -C "$2"', 'sh', commit, path])
  cpSync(join(ROOT, 'test/help'), join(path, 'test/help'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
}

async function playIn(tree: string, out: string, folders: readonly string[]): Promise<Emitted> {
  mkdirSync(out)
  return JSON.parse(await run(['bun', join(tree, 'test/help/play-recordings.ts'), out, ...folders])) as Emitted
}

/** Returns by how much events are emitted earlier or later than before; recordings with other events do not count. */
function shiftOf(before: Emitted, now: Emitted): string {
  const shifts = Object.entries(now).flatMap(([name, times]) => {
    const timesBefore = before[name] ?? []
    if (timesBefore.length !== times.length) return []
    return times.map((us, index) => ({ name, ms: (us - (timesBefore[index] ?? 0)) / 1_000 }))
  })
  const moved = shifts.filter(({ ms }) => ms !== 0).toSorted((one, other) => one.ms - other.ms)
  const [first, last] = [moved[0], moved.at(-1)]
  if (first === undefined || last === undefined) return 'Each event is emitted at the same moment.'
  const mean = (moved.reduce((sum, { ms }) => sum + ms, 0) / moved.length).toFixed(1)
  const range = `${mean} ms later on average, from ${first.ms} (${first.name}) to ${last.ms} (${last.name})`
  return `${moved.length} of ${shifts.length} events are emitted at another moment: ${range}.`
}

const [commit, ...further] = process.argv.slice(2)
if (commit === undefined) throw new Error('Name the commit to compare with: bun run compare COMMIT [FOLDER…]')
using temporary = emptyFolder()
const at = (name: string): string => join(temporary.path, name)
await checkOut(commit, at('tree'))
const folders = [FIXTURES, ...further.map((folder) => resolve(folder))]
const [before, now] = await Promise.all([playIn(at('tree'), at('before'), folders), playIn(ROOT, at('now'), folders)])
const diff = ['git', '-c', 'core.quotePath=false', 'diff', '--no-index', '--no-prefix', 'before', 'now']
const differing = (await run([...diff, '--name-only'], temporary.path)).split('\n').filter((name) => name !== '')
console.log(await run([...diff, '--unified=0', process.stdout.isTTY ? '--color' : '--no-color'], temporary.path))
console.log(`${differing.length} of ${Object.keys(now).length} recordings differ. ${shiftOf(before, now)}`)
process.exitCode = differing.length > 0 ? 1 : 0
