import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GUIDES } from '../../../src/docs/guides.ts'
import { anchorOf, searchGuides, sectionsOf } from '../../../src/web/browser/lib/guide-search.ts'

const GUIDE = {
  name: 'one',
  title: 'One',
  text: '# One\n\nIntro.\n\n## Signed, in order\n\nA key.\n\n```sh\n## no heading\n```\n\n### FreePBX, Issabel\n\nIts key file.\n',
}

test('every file of the guides is one of them, with its first line as the title', () => {
  const folder = join(import.meta.dir, '../../../src/docs')
  const files = readdirSync(folder).filter((name) => name.endsWith('.md'))
  expect(GUIDES.map(({ name }) => `${name}.md`).toSorted()).toEqual(files.toSorted())
  for (const { name, title, text } of GUIDES) {
    expect(text).toBe(readFileSync(join(folder, `${name}.md`), 'utf8'))
    expect(text).toStartWith(`# ${title}\n`)
  }
})

test('sections begin at headings, not within code', () => {
  expect(sectionsOf(GUIDE).map(({ title, anchor }) => [title, anchor])).toEqual([
    ['One', null],
    ['Signed, in order', 'signed-in-order'],
    ['FreePBX, Issabel', 'freepbx-issabel'],
  ])
})

test('anchors equal the anchors of code hosts', () => {
  expect(anchorOf('Back up & restore: `verify`')).toBe('back-up--restore-verify')
})

test('a search finds sections with all words, titles first', () => {
  const titles = (query: string) => searchGuides([GUIDE], query).map(({ title }) => title)
  expect(titles('key')).toEqual(['Signed, in order', 'FreePBX, Issabel'])
  expect(titles('KEY file')).toEqual(['FreePBX, Issabel'])
  expect(titles('issabel')).toEqual(['FreePBX, Issabel'])
  expect(titles('absent')).toEqual([])
  expect(titles(' ')).toEqual([])
})
