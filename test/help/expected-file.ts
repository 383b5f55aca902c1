/**
 * Reads test/fixtures/*.expected, whose format test/fixtures/README.md describes: a block of lines is a call, a line is
 * the words of an event, then ` | ` and facts.
 */

/** Facts of an event by their keys, as they are written. */
export type Facts = Readonly<Record<string, string>>

export type ExpectedLine = {
  /** The number of the line in the file, from 1. */
  readonly at: number
  readonly words: string
  readonly facts: Facts
}

export type ExpectedBlock = {
  /** Facts that are not written are at their default. */
  readonly isFull: boolean
  /** The lines of a run come in any order. */
  readonly runs: readonly (readonly ExpectedLine[])[]
}

const FACT = /([a-z]+\d*) ("(?:[^"\\]|\\.)*"|\S+)/y

/** Returns the facts of the right half of a line. Throws an error with the line's number if one is malformed. */
function readFacts(text: string, at: number): Facts {
  const facts: Record<string, string> = {}
  let from = 0
  while (from < text.length) {
    FACT.lastIndex = from
    const [found, key = '', value = ''] = FACT.exec(text) ?? []
    if (found === undefined) throw new Error(`line ${at}: no fact of the form "key value": ${text.slice(from)}`)
    if (key in facts) throw new Error(`line ${at}: two facts for ${key}`)
    facts[key] = value
    from += found.length
    while (text[from] === ' ') from += 1
  }
  return facts
}

/** Returns the calls that an `.expected` file has. Throws an error with the line's number if a line is malformed. */
export function readExpected(text: string): ExpectedBlock[] {
  const blocks: { isFull: boolean; runs: ExpectedLine[][] }[] = []
  let [isNew, isLoose] = [true, false]
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim()
    if (line === '') isNew = true
    if (line === '' || line.startsWith('#')) {
      isLoose = false
      continue
    }
    if (isNew) blocks.push({ isFull: line === 'full', runs: [] })
    const runs = blocks.at(-1)?.runs ?? []
    const isFull = isNew && line === 'full'
    isNew = false
    if (isFull) continue
    const inRun = line.startsWith('~')
    const [words = '', ...facts] = line.replace(/^~\s*/, '').split(' | ')
    const one = { at: index + 1, words: words.trim(), facts: readFacts(facts.join(' | ').trim(), index + 1) }
    if (inRun && isLoose) runs.at(-1)?.push(one)
    else runs.push([one])
    isLoose = inRun
  }
  return blocks.filter(({ runs }) => runs.length > 0)
}
