import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Judged } from './help/mutants/judge.ts'
import { type Mutant, mutateSource } from './help/mutants/mutate-source.ts'
import { createRandom } from './help/random.ts'

// bun run mutants: changes conditions, constants and sources of fields in src/calls and in both translators, one at a
// time, in a copy of the sources. Prints the share of mutants that change a body of some recording and that neither the
// recordings nor the scenes notice, with their list. `--limit N` takes so many (300), chosen by `--seed S` (1).

const ROOT = resolve(import.meta.dir, '..')
const FOLDERS = ['src/calls', 'src/pbx/ami/translator', 'src/pbx/esl/translator'] as const
/** Declarations of bodies, and what only stores and serves them. */
const LEFT_OUT = /^src\/calls\/(?:event\.ts|api\/|ingest\/)/

/** Tests of scenes, for mutants that the recordings do not notice. */
const SCENES = [
  'asterisk-dial-scenes',
  'asterisk-group-scenes',
  'asterisk-transfer-scenes',
  'asterisk-originated-scenes',
  'asterisk-conversation-scenes',
  'freeswitch-scenes',
  'fusionpbx-scenes',
  'freeswitch-groups',
  'tracker/ends',
  'tracker/rules/pages',
  'tracker/rules/holds',
]
/** A mutant that takes this many times as long as the run without one hangs, however slow the machine is. */
const HANGS_TIMES = 10
/** It never hangs before this. */
const LEAST_MS = 60_000
/** The limit of a run without a mutant, by which the others are measured. */
const NO_LIMIT_MS = 3_600_000

/** Returns when a mutant hangs, by a run without one that began at this time and has just ended. */
const hangsAfterMs = (beganMs: number): number => Math.max(LEAST_MS, HANGS_TIMES * (performance.now() - beganMs))

/** Copies sources and tests into a folder, with switches in the mutated sources. */
function instrument(folder: string): Mutant[] {
  for (const part of ['src', 'test/help', 'test/calls'])
    cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  for (const part of ['package.json', 'tsconfig.json']) cpSync(join(ROOT, part), join(folder, part))
  for (const part of ['node_modules', 'test/fixtures']) symlinkSync(join(ROOT, part), join(folder, part))
  const mutants: Mutant[] = []
  for (const part of FOLDERS)
    for (const file of readdirSync(join(ROOT, part), { recursive: true, encoding: 'utf8' }).toSorted()) {
      const path = `${part}/${file}`
      if (!path.endsWith('.ts') || LEFT_OUT.test(path)) continue
      const mutated = mutateSource(path, readFileSync(join(ROOT, path), 'utf8'), mutants.length + 1)
      mutants.push(...mutated.mutants)
      writeFileSync(join(folder, path), mutated.text)
    }
  return mutants
}

const JUDGE = ['bun', '--preload=./test/help/mutants/switch.ts', './test/help/mutants/judge.ts'] as const
type Judging = {
  readonly folder: string
  readonly base: string
  /** A mutant without a verdict for this long hangs. */
  readonly hangsMs: number
  readonly env?: Readonly<Record<string, string>>
}

/** Judges mutants by the recordings, in one process, and in a new one after each that hangs or ends it. */
async function judge(ids: readonly number[], { folder, base, hangsMs, env = {} }: Judging): Promise<Judged[]> {
  const judged: Judged[] = []
  while (judged.length < ids.length) {
    const left = ids.slice(judged.length).map(String)
    const child = Bun.spawn([...JUDGE, base, ...left], { cwd: folder, env: { ...process.env, ...env }, stderr: 'pipe' })
    let lastMs = performance.now()
    const watch = setInterval(() => performance.now() - lastMs > hangsMs && child.kill(9), 1_000)
    for await (const line of linesOf(child.stdout)) {
      judged.push(JSON.parse(line))
      lastMs = performance.now()
    }
    clearInterval(watch)
    const [stuck, code] = [ids[judged.length], await child.exited]
    if (stuck !== undefined)
      judged.push({ id: stuck, verdict: 'noticed', by: code === 137 ? 'it hangs' : 'the process ends' })
  }
  return judged
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** Returns whether the scenes notice a mutant: they fail, or take longer than this. */
async function isNoticedByScenes(folder: string, id: number, limitMs: number): Promise<boolean> {
  const files = SCENES.map((name) => `./test/calls/${name}.test.ts`)
  const tests = Bun.spawn(
    ['bun', 'test', '--bail', `--timeout=${Math.ceil(limitMs)}`, '--preload=./test/help/mutants/switch.ts', ...files],
    {
      cwd: folder,
      env: { ...process.env, MUTANT: String(id) },
      stdout: 'ignore',
      stderr: 'ignore',
    },
  )
  const timer = setTimeout(() => tests.kill(9), limitMs)
  const code = await tests.exited
  clearTimeout(timer)
  return code !== 0
}

/** Judges mutants by the recordings; those that are evaluated at loading each in a process of their own. */
async function judgeAll(chosen: readonly Mutant[], folder: string): Promise<Judged[]> {
  const base = join(folder, 'base.json')
  const beganMs = performance.now()
  const written = Bun.spawn([...JUDGE, base], { cwd: folder })
  if ((await written.exited) !== 0) throw new Error('the recordings cannot be played with the instrumented sources')
  const hangsMs = hangsAfterMs(beganMs)
  const ofFunctions = chosen.flatMap(({ id, isStatic }) => (isStatic ? [] : [id]))
  const judged = await judge(ofFunctions, { folder, base, hangsMs })
  for (const { id, isStatic } of chosen)
    if (isStatic) judged.push(...(await judge([id], { folder, base, hangsMs, env: { MUTANT: String(id) } })))
  return judged
}

function print(all: readonly Mutant[], judged: readonly Judged[], survivors: ReadonlySet<number>): void {
  const of = (verdict: Judged['verdict']) => judged.filter((one) => one.verdict === verdict)
  const texts = [...survivors]
    .flatMap((id) => all.filter((one) => one.id === id))
    .map(({ file, line, kind, from, to }) => `survives: ${file}:${line} ${kind}: ${from} → ${to}`)
  const changing = of('changed').length + of('noticed').length
  const share = ((100 * survivors.size) / Math.max(1, changing)).toFixed(1)
  console.log(texts.toSorted().join('\n'))
  console.log(
    `${all.length} mutants, ${judged.length} played: ${of('not reached').length} not reached, ${of('same').length} change no body.`,
  )
  console.log(
    `${changing} change a body: ${of('noticed').length} noticed by recordings, ${of('changed').length - survivors.size} by scenes.`,
  )
  console.log(`${survivors.size} survive: ${share} % of those that change a body.`)
}

async function run(limit: number, seed: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hookswitch-mutants-'))
  try {
    mkdirSync(join(folder, 'test'))
    const all = instrument(folder)
    const random = createRandom(seed)
    const order = all.map((mutant) => ({ mutant, place: random.next() })).toSorted((a, b) => a.place - b.place)
    const chosen = order.slice(0, limit).map(({ mutant }) => mutant)
    const judged = await judgeAll(chosen, folder)
    const survivors = new Set<number>()
    const beganMs = performance.now()
    if (await isNoticedByScenes(folder, 0, NO_LIMIT_MS)) throw new Error('the scenes fail without a mutant')
    const hangsMs = hangsAfterMs(beganMs)
    for (const { id, verdict } of judged)
      if (verdict === 'changed' && !(await isNoticedByScenes(folder, id, hangsMs))) survivors.add(id)
    print(all, judged, survivors)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { limit: { type: 'string', default: '300' }, seed: { type: 'string', default: '1' } },
  })
  const [limit, seed] = [Number(values.limit), Number(values.seed)]
  if (!Number.isInteger(limit) || limit < 1 || !Number.isInteger(seed))
    throw new Error('--limit and --seed are whole numbers')
  await run(limit, seed)
}
