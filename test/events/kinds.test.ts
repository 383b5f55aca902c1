import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { EVENT_KINDS, EVENT_NAMES, FURTHER_NAMES, isOfState } from '../../src/events/kinds.ts'
import { ALL_EXAMPLES } from '../../src/events/samples.ts'

const SRC = resolve(import.meta.dir, '../../src')
const textOf = (...folders: readonly string[]) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(SRC, folder, path)),
    )
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')

const EMITTERS = textOf('calls/tracker/emit', 'recordings')
const STATES = textOf('states/ingest')
const GUIDE = readFileSync(join(SRC, 'docs/events.md'), 'utf8')

/** What a kind needs beyond what the compiler asks for: a body, a phrase and a sample. */
const NEEDS: readonly (readonly [need: string, isMet: (kind: (typeof EVENT_NAMES)[number]) => boolean])[] = [
  ['a row in the first table of docs/events.md', (kind) => new RegExp(`^\\| .*\`${kind}\`.* \\| `, 'm').test(GUIDE)],
  [
    'a part that emits it (calls/tracker/emit, recordings, states/ingest)',
    (kind) => (isOfState(kind) ? /`\$\{\w+\.kind\}_changed`/.test(STATES) : EMITTERS.includes(`'${kind}'`)),
  ],
  ['a sample of its own name', (kind) => ALL_EXAMPLES.some(({ data }) => data.name === kind)],
  [
    'a switch, or a webhook that asks for it',
    (kind) => EVENT_KINDS[kind].obeys !== null || FURTHER_NAMES.some((one) => one === kind),
  ],
]

test('each kind of event has all that a kind needs', () => {
  const missing = EVENT_NAMES.flatMap((kind) =>
    NEEDS.filter(([, isMet]) => !isMet(kind)).map(([need]) => `${kind} lacks ${need}`),
  )
  expect(missing).toEqual([])
})
