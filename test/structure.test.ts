import { describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

const SRC = resolve(import.meta.dir, '../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
const source = (path: string) => readFileSync(join(SRC, path), 'utf8')

/** From left to right: a room imports from itself and from its right only. */
const ROOMS = [
  ['main'],
  ['cli'],
  ['app', 'writer'],
  ['ops'],
  ['web', 'metrics', 'openapi', 'alerts'],
  ['pbx'],
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
const roomOf = (path: string) => path.replace(/\.tsx?$/, '').split('/')[0] ?? ''
const rank = (path: string) => ROOMS.findIndex((rooms) => rooms.includes(roomOf(path)))

/** The package itself is no room: its manifest may be read by any. */
const importsOf = (path: string) =>
  [...source(path).matchAll(/\b(?:from|import)\s*\(?\s*'(\.{1,2}\/[^']+)'/g)]
    .map(([, target = '']) => relative(SRC, join(SRC, dirname(path), target)))
    .filter((target) => !target.startsWith('..'))

/** Schemas, tables and generated declarations are long by nature. */
const MAY_BE_LONG = /(^|\/)(schema|model|records|loader|dispatcher)\.ts$/
const MAX_LINES = 300

const PURE =
  /^(lib\/(fault|address-guard|time|pbx-url)|pbx\/(ami|esl)\/translator\/[\w-]+|calls\/tracker\/.*|cluster\/leases|.*\/(decoder|signal|event-shapes|clock-offset|sanitize|endpoint-classifier|endpoints|event|retry-policy|circuit-breaker|webhook-queue|scheduler|signature|list-etag|event-kinds|call-enums))\.ts$/
const IMPURE =
  /\b(Date\.now|Math\.random|randomUUID\w*|performance\.now|setTimeout|setInterval|process\.\w|from 'node:(fs|net|dns|http|tls))/
/** The defaults that are handed to pure code: the clock, and what makes a new secret. */
const INJECTED: Readonly<Record<string, RegExp>> = {
  'lib/time.ts': /Date\.now|performance\.now/,
}

describe('every file', () => {
  test.each(files)('%s is in a room that is known', (path) => expect(rank(path)).toBeGreaterThanOrEqual(0))

  test.each(files)('%s imports from its own room and its right only', (path) => {
    const wrong = importsOf(path).filter((target) => rank(target) < rank(path))
    expect(wrong).toEqual([])
  })

  test.each(files.filter((path) => !MAY_BE_LONG.test(path)))(`%s has ${MAX_LINES} lines at most`, (path) => {
    expect(source(path).split('\n').length).toBeLessThanOrEqual(MAX_LINES)
  })

  test.each(files.filter((path) => !path.endsWith('.d.ts')))(
    '%s exports by name, is no barrel, and is called after what it holds',
    (path) => {
      expect(source(path)).not.toMatch(/^export default\b/m)
      expect(source(path)).not.toMatch(/^export \* from/m)
      expect(path).not.toMatch(/(^|\/)(index|utils?|helpers?|manager)\.tsx?$/)
    },
  )

  test.each(files)('%s casts away no type', (path) => {
    expect(source(path)).not.toMatch(/@ts-(ignore|expect-error|nocheck)|\bas any\b/)
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
    'cli/print.ts prints, what others have written made harmless: %s does not',
    (path) => {
      expect(source(path)).not.toMatch(/\bconsole\.(log|error|info|warn)\(/)
    },
  )

  test.each(files.filter((path) => path !== 'main.ts'))('main.ts ends the process: %s does not', (path) => {
    expect(source(path)).not.toMatch(/process\.exit\(/)
  })
})

describe('pure code has no clock, no random and no I/O', () => {
  test.each(files.filter((path) => PURE.test(path)))('%s', (path) => {
    const allowed = INJECTED[path]
    const text = allowed === undefined ? source(path) : source(path).replace(new RegExp(allowed, 'g'), '')
    expect(text.match(IMPURE)?.[0]).toBeUndefined()
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

  test('each has that time, with whatever it is run', () => {
    const settings = readFileSync(join(import.meta.dir, '../bunfig.toml'), 'utf8')
    expect(settings).toContain('preload = ["./test/help/patience.ts"]')
    expect(readFileSync(join(import.meta.dir, 'help/patience.ts'), 'utf8')).toContain('const TEST_MS = 900_000')
  })
})

test('no package may run a script when it is installed', () => {
  expect(manifest.trustedDependencies).toEqual([])
})
