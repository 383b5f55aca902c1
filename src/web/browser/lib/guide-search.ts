import type { Guide } from '../../../docs/guides.ts'

/** One section of a guide: its heading, the anchor of that, and its text. The guide's beginning has no anchor. */
export type GuideSection = {
  readonly guide: Guide
  readonly title: string
  readonly anchor: string | null
  readonly text: string
}

/** Returns the anchor of a heading, as code hosts make it. */
export const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** Returns the sections of a guide, in order. A `#` within a code block is no heading. */
export function sectionsOf(guide: Guide): GuideSection[] {
  const sections: { title: string; anchor: string | null; lines: string[] }[] = [
    { title: guide.title, anchor: null, lines: [] },
  ]
  let isCode = false
  for (const line of guide.text.split('\n').slice(1)) {
    if (line.startsWith('```')) isCode = !isCode
    const [, title] = isCode ? [] : (/^#{2,3} (.+)$/.exec(line) ?? [])
    if (title === undefined) sections.at(-1)?.lines.push(line)
    else sections.push({ title, anchor: anchorOf(title), lines: [] })
  }
  return sections.map(({ title, anchor, lines }) => ({ guide, title, anchor, text: lines.join('\n') }))
}

/** Returns the sections that have every word of the query in their title or text, those with all in the title first. */
export function searchGuides(guides: readonly Guide[], query: string): GuideSection[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const hasAll = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  const found = guides.flatMap(sectionsOf).filter(({ title, text }) => hasAll(`${title}\n${text}`))
  return [...found.filter(({ title }) => hasAll(title)), ...found.filter(({ title }) => !hasAll(title))]
}
