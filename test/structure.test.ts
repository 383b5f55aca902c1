import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { BETTER_WORDS, identifierWords, VERBS, wordsToReplace } from './help/plain-words.ts'
import { parseSources, type SourceText } from './help/source-tree.ts'

const SRC = resolve(import.meta.dir, '../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
const source = (path: string) => readFileSync(join(SRC, path), 'utf8')

/** From left to right: a module imports from itself and from the modules after it only. */
const LAYERS = [
  ['main'],
  ['cli'],
  ['app', 'writer', 'persistence'],
  ['ops'],
  ['web', 'metrics', 'openapi', 'alerts'],
  ['pbx'],
  ['recordings'],
  ['calls'],
  ['deliveries'],
  ['webhooks'],
  ['auth'],
  ['http', 'config'],
  ['settings'],
  ['cluster'],
  ['store'],
  ['lib'],
]
const moduleOf = (path: string) => path.replace(/\.tsx?$/, '').split('/')[0] ?? ''
const rank = (path: string) => LAYERS.findIndex((modules) => modules.includes(moduleOf(path)))

/** Returns the files of src that a file imports. package.json is not one of them: every module may import it. */
const importsOf = (path: string, ignored = /$^/g) =>
  [
    ...source(path)
      .replace(ignored, '')
      .matchAll(/\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g),
  ]
    .map(([, target = '']) => relative(SRC, join(SRC, dirname(path), target)))
    .filter((target) => !target.startsWith('..'))
const imports = new Map(files.map((path) => [path, importsOf(path)]))
/** Imports of types do not exist when the program runs. */
const runtimeImports = new Map(files.map((path) => [path, importsOf(path, /^import type [^']+'[^']+'$/gm)]))

const MAX_LINES = 300
const MAX_COLUMNS = 120
const MAX_FILES_IN_A_FOLDER = 16
const MAX_FUNCTION_LINES = 70

describe('every file', () => {
  test.each(files)('%s is in a known module', (path) => expect(rank(path)).toBeGreaterThanOrEqual(0))

  test.each(files)('%s imports from its own module and the modules after it only', (path) => {
    expect(imports.get(path)?.filter((target) => rank(target) < rank(path))).toEqual([])
  })

  test.each(files)(
    "%s uses plain integers: each of Elysia's compiles a validator, a millisecond of every start",
    (path) => {
      expect(source(path)).not.toMatch(/\bt\.(?:Integer|Numeric)\(/)
    },
  )

  test.each(files)(`%s has at most ${MAX_LINES} lines`, (path) => {
    expect(source(path).split('\n').length).toBeLessThanOrEqual(MAX_LINES)
  })

  test.each(files.filter((path) => !path.endsWith('.d.ts')))('%s exports by name and is no barrel', (path) => {
    expect(source(path)).not.toMatch(/^export default\b/m)
    expect(source(path)).not.toMatch(/^export \* from/m)
    expect(path).not.toMatch(/(^|\/)(index|utils?|helpers?|manager)\.tsx?$/)
  })

  test.each(files)('%s casts away no type', (path) => {
    expect(source(path)).not.toMatch(/@ts-(ignore|expect-error|nocheck)|\bas any\b/)
  })
})

/** Returns the files on the first import cycle that is reachable from a file, `undefined` if there is none. */
function cycleFrom(path: string, trail: readonly string[], done: Set<string>): readonly string[] | undefined {
  if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
  if (done.has(path)) return undefined
  for (const target of runtimeImports.get(path) ?? []) {
    const cycle = cycleFrom(target, [...trail, path], done)
    if (cycle !== undefined) return cycle
  }
  done.add(path)
  return undefined
}

test('no files import each other in a circle', () => {
  const done = new Set<string>()
  expect(files.map((path) => cycleFrom(path, [], done)).find((cycle) => cycle !== undefined)).toBeUndefined()
})

describe('folders', () => {
  test(`have at most ${MAX_FILES_IN_A_FOLDER} files`, () => {
    const folders = Map.groupBy(files, dirname)
    const large = [...folders].filter(([, within]) => within.length > MAX_FILES_IN_A_FOLDER)
    expect(large.map(([path, within]) => `${path}: ${within.length}`)).toEqual([])
  })

  test('and files of src are the rows of the module table in src/README.md', () => {
    const [, table = ''] = /^## Modules$([\s\S]*?)^## /m.exec(source('README.md')) ?? []
    const rows = [...table.matchAll(/^\| `([\w.-]+)\/?` +\| /gm)].map(([, name = '']) => name)
    const entries = readdirSync(SRC).filter((name) => name !== 'README.md')
    expect(rows.toSorted()).toEqual(entries.toSorted())
  })

  /** Wiring: a part that only these import is still a module of its own. */
  const WIRING: ReadonlySet<string> = new Set(['app.ts', 'writer.ts', 'cli/program.ts'])
  const SMALL_LINES = 30
  /** Small files with one importer that stay apart, each with the reason. */
  const SLIVERS: Readonly<Record<string, string>> = {
    'calls/call-record.ts': 'the name by which the record of a call is searched for',
    'calls/tracker/emit/settling.ts': 'the name by which settling is searched for',
    'calls/tracker/transfers/transfer-hold.ts': "the name by which the hold of a transfer's events is searched for",
    'cli/license-texts.ts': 'a macro reads the licences only when this file is imported',
    'store/postgres/maintenance/condition.ts': 'both engines have the same files',
    'store/postgres/pbx-memory.ts': 'both engines have the same files',
    'web/browser/lib/user-agent.ts': 'pure code beside a view',
    'web/browser/views/calls/call-recordings.tsx': 'one view in each file',
  }

  test('hold no small file that belongs into its only importer', () => {
    const importers = (path: string) => files.filter((one) => imports.get(one)?.includes(path))
    const slivers = files.filter((path) => {
      if (path in SLIVERS || path.endsWith('.d.ts')) return false
      if (source(path).split('\n').length > SMALL_LINES) return false
      const [only, second] = importers(path)
      return only !== undefined && second === undefined && !WIRING.has(only)
    })
    expect(slivers).toEqual([])
  })
})

describe('only', () => {
  test.each(files.filter((path) => !path.startsWith('store/sqlite/')))(
    'src/store/sqlite opens SQLite: %s does not',
    (path) => {
      expect(source(path)).not.toMatch(/from '(bun:sqlite|drizzle-orm[^']*)'/)
    },
  )

  test.each(files.filter((path) => path !== 'cli/print.ts' && !path.startsWith('web/browser/')))(
    'cli/print.ts prints, with control characters replaced: %s does not',
    (path) => {
      expect(source(path)).not.toMatch(/\bconsole\.(log|error|info|warn)\(/)
    },
  )

  test.each(files.filter((path) => path !== 'main.ts'))('main.ts ends the process: %s does not', (path) => {
    expect(source(path)).not.toMatch(/process\.exit\(/)
  })
})

/** The modules and files that are called pure. Each pattern matches at least one file. */
const PURE: readonly RegExp[] = [
  /^lib\/(fault|address-guard|time|pbx-url|event-kinds|call-enums)\.ts$/,
  /^store\/list-etag\.ts$/,
  /^cluster\/(leases|own-leases|silence|shares)\.ts$/,
  /^webhooks\/signature\.ts$/,
  /^deliveries\/(retry-policy|circuit-breaker)\.ts$/,
  /^deliveries\/queue\/(backlog|call-lane|capacity|delivery|loaded-deliveries|scheduler|webhook-queue)\.ts$/,
  /^calls\/(event|signal)\.ts$/,
  /^calls\/tracker\//,
  /^recordings\/(recording-path|byte-range|link|audio-type)\.ts$/,
  /^pbx\/(endpoint-classifier|endpoints)\.ts$/,
  /^pbx\/(ami|esl)\/(decoder|event-shapes|translator\/[\w-]+)\.ts$/,
]
const isPure = (path: string) => PURE.some((pattern) => pattern.test(path))
const IMPURE =
  /\b(Date\.now|Math\.random|randomUUID\w*|performance\.now|setTimeout|setInterval|process\.\w|from 'node:(fs|net|dns|http|tls))/
/** Clocks are declared here, as defaults of parameters. */
const INJECTED: Readonly<Record<string, RegExp>> = {
  'lib/time.ts': /Date\.now|performance\.now/,
}

describe('pure code has no clock, no random and no I/O', () => {
  test.each(files.filter(isPure))('%s', (path) => {
    const allowed = INJECTED[path]
    const text = allowed === undefined ? source(path) : source(path).replace(new RegExp(allowed, 'g'), '')
    expect(text.match(IMPURE)?.[0]).toBeUndefined()
  })

  test.each(PURE.map(String))('%s is a pattern of files that exist', (pattern) => {
    expect(files.some((path) => PURE.some((one) => String(one) === pattern && one.test(path)))).toBe(true)
  })
})

const { src: parsed, test: parsedTests } = await parseSources()
/** The list of the words itself is not in plain words. */
const WORD_LIST = 'help/plain-words.ts'
const testFiles = parsedTests.filter(({ path }) => path !== WORD_LIST)

describe('the sources and their tests are in plain words', () => {
  const badWords = (textsOf: (file: SourceText) => Iterable<string>) =>
    [...parsed, ...testFiles].flatMap((file) =>
      [...textsOf(file)].flatMap((text) =>
        wordsToReplace(text).map((word) => `${file.path}: ${word} (better: ${BETTER_WORDS[word]}) in ${text}`),
      ),
    )

  test('in identifiers', () => {
    const ofNow = ({ path, identifiers }: SourceText) => (path === OLD_NAMES ? [] : [...identifiers])
    expect(badWords((file) => ofNow(file).map(identifierWords))).toEqual([])
  })
  test('in comments', () => expect(badWords(({ comments }) => comments)).toEqual([]))
  test('in messages', () => expect(badWords(({ messages }) => messages)).toEqual([]))
  test.each(['../README.md', 'README.md'])('in the prose of %s', (path) => {
    const prose = source(path).replace(/^```[\s\S]*?^```|`[^`\n]*`|\]\([^)]*\)/gm, '')
    expect(wordsToReplace(prose)).toEqual([])
  })
  test('in the names of files', () => {
    const all = [...files, ...testFiles.map(({ path }) => path)]
    expect(all.filter((path) => wordsToReplace(path).length > 0)).toEqual([])
  })

  test('comments do not start with what, who, where or whose', () => {
    const wrong = parsed.flatMap(({ path, comments }) =>
      comments.filter((text) => /^(what|who|whom|whose|where)\b/i.test(text)).map((text) => `${path}: ${text}`),
    )
    expect(wrong).toEqual([])
  })

  test(`comments have at most ${MAX_COLUMNS} columns`, () => {
    const long = files.flatMap((path) =>
      source(path)
        .split('\n')
        .flatMap((line, at) =>
          line.length > MAX_COLUMNS && /^\s*(\/\/|\/?\*)/.test(line) && !line.includes('biome-ignore')
            ? [`${path}:${at + 1}`]
            : [],
        ),
    )
    expect(long).toEqual([])
  })
})

/** Names in the state that earlier versions have stored. */
const OLD_NAMES = 'calls/tracker/resync/takeover.ts'

describe('functions', () => {
  test(`have at most ${MAX_FUNCTION_LINES} lines, markup aside`, () => {
    const long = parsed.flatMap(({ path, functions }) =>
      functions.filter(({ lines }) => lines > MAX_FUNCTION_LINES).map(({ name, lines }) => `${path} ${name}: ${lines}`),
    )
    expect(long).toEqual([])
  })

  test('that are exported have a contract that starts with a verb', () => {
    const wrong = parsed.flatMap(({ path, functions }) =>
      functions
        .filter(({ exported, docstring = '' }) => exported && !VERBS.has(/^\w+/.exec(docstring)?.[0] ?? ''))
        .map(({ name, docstring }) => `${path} ${name}: ${docstring ?? 'no docstring'}`),
    )
    expect(wrong).toEqual([])
  })
})

const tests = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.test.ts'),
)
/** The time that each test has, by test/help/patience.ts: far more than any machine needs. */
const TEST_MS = 900_000

describe('no test depends on how fast a machine is', () => {
  test.each(tests)('%s gives no test less time than all have', (path) => {
    const text = readFileSync(join(import.meta.dir, path), 'utf8')
    const limits = [...text.matchAll(/^ *\},(?: |\n *)(\d[\d_]*),?(?:\n *)?\)$/gm)]
    const ofTests = limits.map(([, ms = '']) => Number(ms.replaceAll('_', ''))).filter((ms) => ms >= 1_000)
    expect(ofTests.filter((ms) => ms < TEST_MS)).toEqual([])
  })

  test('each has that time, however it is run', () => {
    const settings = readFileSync(join(import.meta.dir, '../bunfig.toml'), 'utf8')
    expect(settings).toContain('preload = ["./test/help/patience.ts"]')
    expect(readFileSync(join(import.meta.dir, 'help/patience.ts'), 'utf8')).toContain('const TEST_MS = 900_000')
  })
})

test('no package may run a script when it is installed', () => {
  expect(manifest.trustedDependencies).toEqual([])
})
