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
/** A mutant that makes no progress for this long hangs. */
const HANGS_MS = 60_000

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
type Judging = { readonly folder: string; readonly base: string; readonly env?: Readonly<Record<string, string>> }

/** Judges mutants by the recordings, in one process, and in a new one after each that hangs or ends it. */
async function judge(ids: readonly number[], { folder, base, env = {} }: Judging): Promise<Judged[]> {
  const judged: Judged[] = []
  while (judged.length < ids.length) {
    const left = ids.slice(judged.length).map(String)
    const child = Bun.spawn([...JUDGE, base, ...left], { cwd: folder, env: { ...process.env, ...env }, stderr: 'pipe' })
    let lastMs = performance.now()
    const watch = setInterval(() => performance.now() - lastMs > HANGS_MS && child.kill(9), 1_000)
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

/** Returns whether the scenes notice a mutant. */
async function isNoticedByScenes(folder: string, id: number): Promise<boolean> {
  const files = SCENES.map((name) => `./test/calls/${name}.test.ts`)
  const tests = Bun.spawn(
    ['bun', 'test', '--bail', '--timeout=60000', '--preload=./test/help/mutants/switch.ts', ...files],
    {
      cwd: folder,
      env: { ...process.env, MUTANT: String(id) },
      stdout: 'ignore',
      stderr: 'ignore',
    },
  )
  const timer = setTimeout(() => tests.kill(9), 2 * HANGS_MS)
  const code = await tests.exited
  clearTimeout(timer)
  return code !== 0
}

/** Judges mutants by the recordings; those that are evaluated at loading each in a process of their own. */
async function judgeAll(chosen: readonly Mutant[], folder: string): Promise<Judged[]> {
  const base = join(folder, 'base.json')
  const written = Bun.spawn([...JUDGE, base], { cwd: folder })
  if ((await written.exited) !== 0) throw new Error('the recordings cannot be played with the instrumented sources')
  const ofFunctions = chosen.flatMap(({ id, isStatic }) => (isStatic ? [] : [id]))
  const judged = await judge(ofFunctions, { folder, base })
  for (const { id, isStatic } of chosen)
    if (isStatic) judged.push(...(await judge([id], { folder, base, env: { MUTANT: String(id) } })))
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
    if (await isNoticedByScenes(folder, 0)) throw new Error('the scenes fail without a mutant')
    for (const { id, verdict } of judged)
      if (verdict === 'changed' && !(await isNoticedByScenes(folder, id))) survivors.add(id)
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
