import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import { parseSources } from './help/source-tree.ts'

const SRC = resolve(import.meta.dir, '../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (path) => /\.tsx?$/.test(path) && !path.startsWith('examples/'),
)
const source = (path: string) => readFileSync(join(SRC, path), 'utf8')

/**
 * All folders of src, from the roof to the floor: a file imports from its own folder and from those after it, types included. `.` is src
 * itself: main.ts.
 */
const FOLDERS = [
  '.',
  'cli/commands',
  'cli/demo',
  'cli/doctor',
  'cli/setup',
  'cli',
  'app',
  'backups',
  'alerts',
  'metrics',
  'openapi',
  'web/server',
  'web/browser',
  'web/browser/views',
  'web/browser/views/account',
  'web/browser/views/calls',
  'web/browser/views/deliveries',
  'web/browser/views/docs',
  'web/browser/views/help',
  'web/browser/views/pbxs',
  'web/browser/views/phones',
  'web/browser/views/webhooks',
  'web/browser/views/live',
  'web/browser/components',
  'web/browser/lib',
  'web',
  'pbx/originate',
  'pbx/watch',
  'pbx/tools',
  'pbx/tools/replay',
  'pbx',
  'pbx/ami/replay',
  'pbx/ami/translator',
  'pbx/ami',
  'pbx/esl/replay',
  'pbx/esl/translator',
  'pbx/esl',
  'pbx/connection',
  'pbx/recorded',
  'pbx/endpoints',
  'recordings',
  'recordings/copies',
  'recordings/sources',
  'states/api',
  'states/ingest',
  'states/board',
  'states',
  'calls/ingest',
  'calls/api',
  'calls/tracker',
  'calls/tracker/resync',
  'calls/tracker/emit',
  'calls/tracker/rules',
  'calls/tracker/facts',
  'calls/tracker/state',
  'calls/tracker/picture',
  'calls',
  'contacts',
  'deliveries/log',
  'deliveries/run',
  'deliveries/mqtt',
  'deliveries/sending',
  'deliveries/queue',
  'deliveries/policy',
  'webhooks',
  'webhooks/options',
  'flows/setup',
  'flows/authorization',
  'flows/presets',
  'flows',
  'templates',
  'auth',
  'http',
  'outbound',
  'cluster',
  'store/postgres',
  'store/postgres/engine',
  'store/sqlite',
  'store/sqlite/engine',
  'store/sql',
  'store',
  'store/operations',
  'events',
  'lib',
  'docs',
]
/** Returns the place of a file's folder. A folder without code (migrations, examples) is below all. */
const rank = (path: string) => {
  const place = FOLDERS.indexOf(dirname(path))
  return place < 0 ? FOLDERS.length : place
}

/** Returns the files of src that a file imports. package.json is not one of them: every module may import it. */
const importsOf = (path: string) =>
  [...source(path).matchAll(/\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)]
    .map(([, target = '']) => relative(SRC, join(SRC, dirname(path), target)))
    .filter((target) => !target.startsWith('..'))
const imports = new Map(files.map((path) => [path, importsOf(path)]))

/** Returns the names that a file exports. */
const exportsOf = (path: string): string[] =>
  [...source(path).matchAll(/^export (?:async )?(?:const|let|function\*?|class|type|enum) ([\w$]+)/gm)].map(
    ([, name = '']) => name,
  )

const IMPORTED = /\b(?:import|export)\s([^'"]*?)\bfrom\s+'(\.[^']+)'|\bconst (\{[^}]*\}) = await import\('(\.[^']+)'\)/g

/** Returns what a file imports, as `path name`; `path *` for a whole module. */
const importedBy = (path: string): string[] =>
  [...source(path).matchAll(IMPORTED)].flatMap(([, names, target, loadedNames, loaded]) => {
    const file = relative(SRC, join(SRC, dirname(path), target ?? loaded ?? ''))
    const [, braced = '*'] = /\{([^}]*)\}/.exec(names ?? loadedNames ?? '') ?? []
    return braced.split(',').map((name) => `${file} ${name.trim().replace(/^type |(?: as |:).*$/g, '')}`)
  })

/** Exports that tests alone import, with the reason. */
const EXPORTED_FOR_TESTS: Readonly<Record<string, string>> = {
  'deliveries/run/expiry.ts expireDeliveries': 'one turn of a timer, which a test with a clock of its own takes itself',
}

const MAX_COLUMNS = 120

/** Returns the files whose text matches, each with the first match. */
const offenders = (pattern: RegExp, isChecked: (path: string) => boolean = () => true): string[] =>
  files.filter(isChecked).flatMap((path) => {
    const [found] = pattern.exec(source(path)) ?? []
    return found === undefined ? [] : [`${path}: ${found}`]
  })

describe('every file', () => {
  test('is in a folder of the order, which has no other', () => {
    expect([...new Set(files.map(dirname))].toSorted()).toEqual(FOLDERS.toSorted())
  })

  test('imports from its own folder and the folders after it only', () => {
    const backwards = files.flatMap((path) =>
      (imports.get(path) ?? []).filter((target) => rank(target) < rank(path)).map((target) => `${path} -> ${target}`),
    )
    expect(backwards).toEqual([])
  })

  test('imports a module in one statement', () => {
    const twice = files.flatMap((path) => {
      const targets = [...source(path).matchAll(/^import (?:type )?\{[^}]*\} from '([^']+)'/gm)].map(
        ([, target]) => target,
      )
      return targets.filter((target, at) => targets.indexOf(target) !== at).map((target) => `${path} -> ${target}`)
    })
    expect(twice).toEqual([])
  })

  test("uses plain integers: each of Elysia's compiles a validator, a millisecond of every start", () => {
    expect(offenders(/\bt\.(?:Integer|Numeric)\(/)).toEqual([])
  })

  test('delays no start: it imports no database client of Bun, and neither compiles a schema nor loads an order of text', () => {
    expect(offenders(/^import \{[^}]*\bSQL\b[^}]*\} from 'bun'/m)).toEqual([])
    expect(offenders(/^.*\bTypeCompiler\.Compile\(/m, (path) => path !== 'http/validation.ts')).toEqual([])
    expect(offenders(/^(?:export )?const .*\bnew Intl\./m, (path) => !path.startsWith('web/browser/'))).toEqual([])
  })

  test('exports by name and is no barrel', () => {
    expect(offenders(/^export default\b|^export \* from/m, (path) => !path.endsWith('.d.ts'))).toEqual([])
    expect(files.filter((path) => /(^|\/)(index|utils?|helpers?|manager)\.tsx?$/.test(path))).toEqual([])
  })

  test('exports only names that another file of src, or a script of the build, imports', () => {
    const scripts = readdirSync(join(SRC, '../.ci'), { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.ts'),
    )
    const importing = [...files, ...scripts.map((path) => join('../.ci', path))]
    const used = new Set(importing.flatMap(importedBy))
    const unused = files.flatMap((path) =>
      exportsOf(path)
        .filter((name) => !used.has(`${path} ${name}`) && !used.has(`${path} *`))
        .map((name) => `${path} ${name}`),
    )
    expect(unused.toSorted()).toEqual(Object.keys(EXPORTED_FOR_TESTS).toSorted())
  })

  test('the wiring and its parts take clocks as parameters: the wall clock of a cluster is corrected', () => {
    const clock = /import \{[^}]*(?<!type )\b(nowUs|steadyUs)\b[^}]*\} from '[./]+lib\/time\.ts'/
    expect(offenders(clock, (path) => /^(app\/app\.ts|(alerts|backups|recordings|web\/server)\/)/.test(path))).toEqual(
      [],
    )
  })

  test('casts away no type', () => {
    expect(offenders(/@ts-(ignore|expect-error|nocheck)|\bas any\b/)).toEqual([])
  })
})

/** Returns the files on the first import cycle that is reachable from a file, or `undefined`. */
function cycleFrom(path: string, trail: readonly string[], done: Set<string>): readonly string[] | undefined {
  if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
  if (done.has(path)) return undefined
  for (const target of imports.get(path) ?? []) {
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

test('the project has the folders src and test, and hidden ones', () => {
  const root = join(SRC, '..')
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
  const folders = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !ignored.includes(`${entry.name}/`))
    .map(({ name }) => name)
  expect(folders.toSorted()).toEqual(['src', 'test'])
})

test('the folders and files of src are the rows of the module table in src/README.md', () => {
  const [, table = ''] = /^## Modules$([\s\S]*?)^## /m.exec(source('README.md')) ?? []
  const rows = [...table.matchAll(/^\| `([\w.-]+)\/?` +\| /gm)].map(([, name = '']) => name)
  const entries = readdirSync(SRC).filter((name) => name !== 'README.md')
  expect(rows.toSorted()).toEqual(entries.toSorted())
})

test('the files and folders that a README.md names exist', () => {
  const root = join(SRC, '..')
  const readmes = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(^|\/)README\.md$/.test(path) && !path.startsWith('fixtures/'))
      .map((path) => join(folder, path)),
  )
  const missing = readmes.flatMap((readme) =>
    readFileSync(join(root, readme), 'utf8')
      .split('\n')
      .flatMap((line) => {
        // A table row about a folder names files of that folder.
        const [, row = ''] = /^\| `([\w-]+)\/`/.exec(line) ?? []
        const bases = [dirname(readme), 'src', '.', join(dirname(readme), row)]
        const names = [...line.matchAll(/`([\w.-]+(?:\/[\w.-]*)+|[\w-]+\.(?:ts|tsx|html))`/g)].map(
          ([, name = '']) => name,
        )
        return names
          .filter(
            (name) =>
              !bases.some((base) => ['', '.ts', '.tsx'].some((end) => existsSync(join(root, base, name + end)))),
          )
          .map((name) => `${readme}: ${name}`)
      }),
  )
  expect(missing).toEqual([])
  expect(readmes.length).toBeGreaterThan(10)
  // The formatter pads tables.
  expect(Buffer.byteLength(source('README.md').replace(/ {2,}|-{3,}/g, ' '))).toBeLessThanOrEqual(12 * 1_024)
})

test('every thread is an entry point of the executable', () => {
  const threads = files.flatMap((path) =>
    [...source(path).matchAll(/new Worker\(new URL\('\.\/([\w-]+\.ts)'/g)].map(([, name = '']) =>
      join(dirname(path), name),
    ),
  )
  expect(threads.toSorted()).toEqual(['app/sync-thread.ts', 'app/template-thread.ts', 'app/writer.ts'])
  const entries = manifest.scripts.build.split(' ').filter((word) => word.startsWith('src/'))
  expect(entries.toSorted()).toEqual(['main.ts', ...threads].map((name) => `src/${name}`).toSorted())
})

/** Returns the files that are loaded with a file: neither types nor what `import()` loads later. */
function loadedWith(path: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(path)) return loaded
  loaded.add(path)
  for (const [, names = '', target = ''] of source(path).matchAll(/^import\s([^'"]*?)from\s+'(\.[^']+\.tsx?)'/gm)) {
    const isType = names.startsWith('type ') || /^\{\s*(type [^,}]+,?\s*)*\}\s*$/.test(names)
    if (!isType) loadedWith(relative(SRC, join(SRC, dirname(path), target)), loaded)
  }
  return loaded
}

test('the engine of templates is loaded by its thread, and not at the start of the service', () => {
  const isEngine = (path: string) => /from 'liquidjs'/.test(source(path))
  expect([...loadedWith('app/template-thread.ts')].filter(isEngine)).toContain('templates/engine.ts')
  expect([...loadedWith('app/app.ts')].filter(isEngine)).toEqual([])
})

describe('only', () => {
  test('src/store/sqlite opens SQLite', () => {
    expect(offenders(/from '(bun:sqlite|drizzle-orm[^']*)'/, (path) => !path.startsWith('store/'))).toEqual([])
    expect(offenders(/from 'bun:sqlite'/, (path) => !path.startsWith('store/sqlite/'))).toEqual([])
  })

  test('cli/print.ts prints, with control characters replaced', () => {
    const prints = (path: string) => path !== 'cli/print.ts' && !path.startsWith('web/browser/')
    expect(offenders(/\bconsole\.(log|error|info|warn)\(/, prints)).toEqual([])
  })

  test('main.ts ends the process', () => {
    expect(offenders(/process\.exit\(/, (path) => path !== 'main.ts')).toEqual([])
  })
})

/** The modules and files that are called pure. Each pattern matches at least one file. */
const PURE: readonly RegExp[] = [
  /^lib\/(fault|time|pbx-url)\.ts$/,
  /^events\//,
  /^store\/list-etag\.ts$/,
  /^cluster\/(leases|shares)\.ts$/,
  /^outbound\/(address-guard|circuit-breaker|outcome|signature)\.ts$/,
  /^flows\/(flow-machine|step-url|model)\.ts$/,
  /^deliveries\/policy\/(retry-policy|extra-window)\.ts$/,
  /^deliveries\/queue\//,
  /^calls\/signal\.ts$/,
  /^calls\/tracker\//,
  /^recordings\/(sources\/recording-path|byte-range|link-signature|audio-type)\.ts$/,
  /^pbx\/endpoints\//,
  /^pbx\/(ami|esl)\/(decoder|event-shapes|translator\/[\w-]+)\.ts$/,
]
const isPure = (path: string) => PURE.some((pattern) => pattern.test(path))
const IMPURE =
  /\b(Date\.now|Math\.random|randomUUID\w*|performance\.now|setTimeout|setInterval|process\.\w|from 'node:(fs|net|dns|http|tls))/
/** Clocks are declared here, as defaults of parameters. */
const INJECTED: Readonly<Record<string, RegExp>> = {
  'lib/time.ts': /Date\.now|performance\.now/,
}

describe('pure code', () => {
  test('has no clock, no random and no I/O', () => {
    const impure = files.filter(isPure).flatMap((path) => {
      const allowed = INJECTED[path]
      const text = allowed === undefined ? source(path) : source(path).replace(new RegExp(allowed, 'g'), '')
      const [found] = IMPURE.exec(text) ?? []
      return found === undefined ? [] : [`${path}: ${found}`]
    })
    expect(impure).toEqual([])
  })

  test('exists: every pattern matches a file', () => {
    expect(PURE.filter((pattern) => !files.some((path) => pattern.test(path))).map(String)).toEqual([])
  })
})

const parsed = await parseSources()

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

test('functions that another folder imports have a contract that starts with a verb', () => {
  const isVerb = (word: string) => /^[A-Z][a-z]+s$/.test(word) && !/^(This|Is|Has|Was|Always|Its)$/.test(word)
  const imported = (path: string) =>
    files.some((one) => dirname(one) !== dirname(path) && imports.get(one)?.includes(path))
  const wrong = parsed.flatMap(({ path, functions }) =>
    functions
      .filter(({ exported, docstring = '' }) => exported && !isVerb(/^\w+/.exec(docstring)?.[0] ?? ''))
      .filter(() => imported(path))
      .map(({ name, docstring }) => `${path} ${name}: ${docstring ?? 'no docstring'}`),
  )
  expect(wrong).toEqual([])
})

test('a file of the tests exports only names that another file imports', () => {
  const paths = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('fixtures/'))
    .map((path) => join('../test', path))
  const used = new Set(paths.flatMap(importedBy))
  const unused = paths.flatMap((path) =>
    exportsOf(path)
      .filter((name) => !used.has(`${path} ${name}`) && !used.has(`${path} *`))
      .map((name) => `${path} ${name}`),
  )
  expect(unused).toEqual([])
})

const tests = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
  path.endsWith('.test.ts'),
)
/** The time that each test has, by test/help/patience.ts: far more than any machine needs. */
const TEST_MS = 900_000

test('what moves the focus is a layout effect: a plain one runs after the paint, when the user may be typing already', () => {
  const late = /\buseEffect\(\(\) => \{(?:(?!\}, \[).)*\.(focus|showModal)\(/s
  expect(files.filter((path) => path.startsWith('web/browser/') && late.test(source(path)))).toEqual([])
})

test('no literal is spread where it is written, which switches off the check for excess properties', () => {
  const root = join(SRC, '..')
  const all = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('fixtures/'))
      .map((path) => join(folder, path)),
  )
  const spread = all.flatMap((path) => {
    const text = readFileSync(join(root, path), 'utf8')
    const found = text.matchAll(/\.{3}(?:\{|\[[^[\]]*\](?![.[?]))/g)
    return [...found].map(({ index }) => `${path}:${text.slice(0, index).split('\n').length}`)
  })
  expect(spread).toEqual([])
})

test('the fast lane starts neither the executable nor a browser', () => {
  const { test: lane } = Bun.TOML.parse(readFileSync(join(import.meta.dir, '../bunfig.toml'), 'utf8')) as {
    test: { pathIgnorePatterns: string[] }
  }
  const ignored = lane.pathIgnorePatterns.map((pattern) => new Bun.Glob(pattern))
  const fast = tests.filter((path) => !ignored.some((glob) => glob.match(`test/${path}`)))
  const starts =
    /import \{[^}]*\b(buildOnce|run|start|startServe|EXECUTABLE)\b[^}]*\} from '[./]+help\/app\.ts'|from '[./]+help\/(browser|watched)\.ts'/
  expect(fast.filter((path) => starts.test(readFileSync(join(import.meta.dir, path), 'utf8')))).toEqual([])
  expect(fast.length).toBeGreaterThan(100)
})

describe('no test depends on how fast a machine is', () => {
  test('no test is given less time than all have', () => {
    const wrong = tests.filter((path) => {
      const text = readFileSync(join(import.meta.dir, path), 'utf8')
      const limits = [...text.matchAll(/^ *\},(?: |\n *)(\d[\d_]*),?(?:\n *)?\)$/gm)]
      const ofTests = limits.map(([, ms = '']) => Number(ms.replaceAll('_', ''))).filter((ms) => ms >= 1_000)
      return ofTests.some((ms) => ms < TEST_MS)
    })
    expect(wrong).toEqual([])
  })

  test('each has that time, however it is run', () => {
    const settings = readFileSync(join(import.meta.dir, '../bunfig.toml'), 'utf8')
    expect(settings).toMatch(/^preload = \[.*"\.\/test\/help\/patience\.ts"\]$/m)
    expect(readFileSync(join(import.meta.dir, 'help/patience.ts'), 'utf8')).toContain('const TEST_MS = 900_000')
  })
})

test('every random test has its seed from test/help/seed.ts', () => {
  const wrong = tests.filter((path) =>
    /createRandom\(\d|Math\.random\(|env\.\w*SEED/.test(readFileSync(join(import.meta.dir, path), 'utf8')),
  )
  expect(wrong).toEqual([])
})

test('the nightly run plays every test that has a seed', () => {
  const workflow = readFileSync(join(import.meta.dir, '../.github/workflows/nightly.yml'), 'utf8')
  const played = [...workflow.matchAll(/\btest\/[\w./-]+/g)].map(([path]) => path)
  const seeded = tests.filter((path) =>
    /from '(\.\.\/)+help\/seed\.ts'/.test(readFileSync(join(import.meta.dir, path), 'utf8')),
  )
  expect(seeded.filter((path) => !played.some((one) => `test/${path}`.startsWith(one)))).toEqual([])
})

test('no package may run a script when it is installed', () => {
  expect(manifest.trustedDependencies).toEqual([])
})
