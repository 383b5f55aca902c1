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
 * The modules of src from the ground up: a file imports from its own module and from those before it, types included. Of
 * another module it imports the face alone (`auth/auth.ts`), or `routes.ts`. A toolbox has no face: all its files are
 * public, or those that are listed, with the reason.
 */
const MODULES: Readonly<Record<string, 'face' | 'toolbox' | readonly string[]>> = {
  docs: 'toolbox',
  lib: 'toolbox',
  events: 'toolbox',
  // The interface; what of each engine opens, locks, saves or checks it; what runs in a thread of its own.
  store: [
    'store.ts',
    'operations/',
    'clock.ts',
    'subscription.ts',
    'webhook-options.ts',
    'list-etag.ts',
    'account-spelling.ts',
    'database-url.ts',
    'sqlite/store.ts',
    'sqlite/engine/',
    'sqlite/kept-outcomes.ts',
    'sqlite/calls.ts',
    'sqlite/declared-mutations.ts',
    'sqlite/outcomes.ts',
    'sqlite/retention.ts',
    'sqlite/retries.ts',
    'postgres/store.ts',
    'postgres/engine/',
    'postgres/statuses.ts',
  ],
  cluster: 'face',
  outbound: 'toolbox',
  http: 'toolbox',
  auth: 'face',
  calls: 'face',
  templates: 'face',
  flows: 'face',
  webhooks: 'face',
  deliveries: 'face',
  contacts: 'face',
  states: 'face',
  // The place of recordings, a part of a PBX's URL.
  recordings: ['recordings.ts', 'sources/recordings-source.ts'],
  // What settings and the page read without any connection: URLs, facts about the kinds, lines of their configuration.
  pbx: ['pbx.ts', 'source/', 'ami/manager-conf.ts', 'esl/event-socket-conf.ts'],
  backups: 'face',
  alerts: 'face',
  metrics: 'face',
  // How webhooks and nodes do, without the page: a command in process answers that, too.
  web: ['web.ts', 'server/webhook-health.ts', 'server/nodes.ts'],
  openapi: 'face',
  app: 'toolbox',
  cli: ['commands/program.ts'],
  'main.ts': 'toolbox',
}
const NAMES = Object.keys(MODULES)
const moduleOf = (path: string): string => path.split('/')[0] ?? ''
/** The face of a module, which exports the names of its files. The store's is an interface, which its own files import. */
const isFace = (path: string): boolean => path === `${moduleOf(path)}/${moduleOf(path)}.ts` && path !== 'store/store.ts'
const isPublic = (path: string): boolean => {
  const name = moduleOf(path)
  const file = path.slice(name.length + 1)
  const rule = MODULES[name]
  if (rule === 'toolbox' || file === 'routes.ts') return true
  if (rule === 'face' || rule === undefined) return isFace(path)
  return rule.some((one) => (one.endsWith('/') ? file.startsWith(one) : file === one))
}

/**
 * Returns the files of src that a file imports. package.json is not one of them: every module may import it. What the
 * browser loads later is none of them: it may use the parts of the page that is there by then.
 */
const importsOf = (path: string) =>
  [...source(path).matchAll(/\b(?:from|import)\s*(?<later>\(?)\s*'(\.{1,2}\/[^']+)'/g)]
    .filter(({ groups }) => groups?.later === '' || !path.startsWith('web/browser/'))
    .map(([, , target = '']) => relative(SRC, join(SRC, dirname(path), target)))
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
  'webhooks/model.ts urlProblem': 'the rule of URLs, whose sentences are tables in tests',
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
  test('is in a module of the list, which has no other', () => {
    expect([...new Set(files.map(moduleOf))].toSorted()).toEqual(NAMES.toSorted())
  })

  test('imports from its own module and those before it, there the face alone', () => {
    const wrong = files.flatMap((path) =>
      (imports.get(path) ?? [])
        .filter((target) => /\.tsx?$/.test(target) && moduleOf(target) !== moduleOf(path))
        .filter((target) => NAMES.indexOf(moduleOf(target)) > NAMES.indexOf(moduleOf(path)) || !isPublic(target))
        .map((target) => `${path} -> ${target}`),
    )
    expect(wrong).toEqual([])
  })

  test('imports no face of its own module, whose folders point one way: its root is their ground', () => {
    const edges = new Map<string, Set<string>>()
    for (const path of files.filter((one) => !isFace(one))) {
      for (const target of imports.get(path) ?? []) {
        if (moduleOf(target) !== moduleOf(path) || !/\.tsx?$/.test(target)) continue
        expect(isFace(target) && `${path} imports ${target}`).toBe(false)
        if (dirname(target) === dirname(path) || /\/routes\.ts$/.test(path)) continue
        edges.set(dirname(path), (edges.get(dirname(path)) ?? new Set()).add(dirname(target)))
      }
    }
    expect(
      [...edges.keys()].map((folder) => circleOf(folder, [], edges)).find((one) => one !== undefined),
    ).toBeUndefined()
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

  test('a face exports only names that another module imports', () => {
    const used = new Set(files.flatMap((path) => importedBy(path).map((name) => `${moduleOf(path)} ${name}`)))
    const unused = files.filter(isFace).flatMap((face) =>
      [...source(face).matchAll(/^export (?:type )?\{([^}]*)\}/gm)]
        .flatMap(([, names = '']) => names.split(',').map((name) => name.trim().replace(/^type /, '')))
        .filter((name) => name !== '')
        .filter((name) => !NAMES.some((one) => one !== moduleOf(face) && used.has(`${one} ${face} ${name}`)))
        .map((name) => `${face} ${name}`),
    )
    expect(unused).toEqual([])
  })

  test('the wiring and its parts take clocks as parameters: the wall clock of a cluster is corrected', () => {
    const clock = /import \{[^}]*(?<!type )\b(nowUs|steadyUs)\b[^}]*\} from '[./]+lib\/time\.ts'/
    expect(offenders(clock, (path) => /^(app\/app\.ts|(alerts|backups|recordings|web\/server)\/)/.test(path))).toEqual(
      [],
    )
  })

  test('names a schema as no other file does: its name stands in the API document', () => {
    const names = files.flatMap((path) => [...source(path).matchAll(/\bnamed\(\s*'(\w+)'/g)].map(([, name]) => name))
    expect(names.length).toBeGreaterThan(50)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
  })

  test('casts away no type', () => {
    expect(offenders(/@ts-(ignore|expect-error|nocheck)|\bas any\b/)).toEqual([])
  })
})

/** Returns the first circle that is reachable from a file or folder, or `undefined`. */
function circleOf(
  from: string,
  trail: readonly string[],
  edges: ReadonlyMap<string, Iterable<string>>,
  done = new Set<string>(),
): readonly string[] | undefined {
  if (trail.includes(from)) return [...trail.slice(trail.indexOf(from)), from]
  if (done.has(from)) return undefined
  for (const target of edges.get(from) ?? []) {
    const circle = circleOf(target, [...trail, from], edges, done)
    if (circle !== undefined) return circle
  }
  done.add(from)
  return undefined
}

test('no files import each other in a circle', () => {
  const done = new Set<string>()
  expect(files.map((path) => circleOf(path, [], imports, done)).find((one) => one !== undefined)).toBeUndefined()
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
  expect(threads.toSorted()).toEqual(['app/sync-thread.ts', 'app/writer.ts'])
  const entries = manifest.scripts.build.split(' ').filter((word) => word.startsWith('src/'))
  expect(entries.toSorted()).toEqual(['main.ts', ...threads].map((name) => `src/${name}`).toSorted())
})

test('what is loaded later is loaded by a file that the executable has whole: src/cli and main.ts', () => {
  // In a chunk that several others share, Bun 1.4.5 writes a wrong path for `import()`: the executable finds nothing there.
  // The page's files are none of the executable's chunks: the browser reads them.
  expect(offenders(/\bimport\('/, (path) => !/^(cli\/|main\.ts$|web\/browser\/)/.test(path))).toEqual([])
})

test('a start examines no schema whole', () => {
  // `TypeGuard` checks a schema with all that is in it at each level: 100 ms of a start. `KindGuard` reads its kind.
  expect(offenders(/\bTypeGuard\b/)).toEqual([])
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
  /^lib\/(fault|time)\.ts$/,
  /^events\//,
  /^store\/list-etag\.ts$/,
  /^cluster\/(leases|shares)\.ts$/,
  /^outbound\/(address-guard|circuit-breaker|outcome|signature)\.ts$/,
  /^flows\/(flow-machine|step-url|model)\.ts$/,
  /^deliveries\/queue\//,
  /^calls\/signal\.ts$/,
  /^calls\/tracker\//,
  /^recordings\/(sources\/recording-path|byte-range|link-signature|audio-type)\.ts$/,
  /^pbx\/(source|endpoints)\//,
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

test('functions that another module imports have a contract that starts with a verb', () => {
  const isVerb = (word: string) => /^[A-Z][a-z]+s$/.test(word) && !/^(This|Is|Has|Was|Always|Its)$/.test(word)
  // A face exports on what its files export; the other public files are imported from outside themselves.
  const given = new Set(
    files.flatMap((path) => {
      const isOutside = (target: string) => isFace(path) || moduleOf(target) !== moduleOf(path)
      return importedBy(path).filter((one) => isOutside(one.split(' ')[0] ?? ''))
    }),
  )
  const wrong = parsed.flatMap(({ path, functions }) =>
    functions
      .filter(({ exported, docstring = '' }) => exported && !isVerb(/^\w+/.exec(docstring)?.[0] ?? ''))
      .filter(({ name }) => given.has(`${path} ${name}`))
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
