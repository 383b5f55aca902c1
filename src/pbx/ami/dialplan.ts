import { bareName } from '../endpoints/endpoint-classifier.ts'
import { readDialString } from './dial-string.ts'

/**
 * Reads from a dialplan which endpoints it dials, and how: a number goes with a dial through a trunk, never with that
 * of a phone. An expression (`${EXTEN}`) is taken for some number; an endpoint that is itself an expression is
 * unknown, but for global variables.
 */
export type DialplanReader = {
  read(application: string, appData: string): void
  dialled(): ReadonlyMap<string, 'with_number' | 'alone'>
  /** Global variables that name a trunk, each with the text before its value (`PJSIP/`, or nothing). */
  globals(): ReadonlyMap<string, string>
  /** FreePBX keeps its trunks in `OUT_1`, `OUT_2` … */
  readonly numbered: boolean
}

/** Of FreePBX's trunks and of hand-made ones there are a few; what is more is not asked for. */
const MAX_GLOBALS = 50
/** No PBX has so many lines. */
const MAX_ENDPOINTS = 10_000
const FREEPBX_TRUNK = /OUT_\$\{/

/** Returns a reader that has read nothing yet. */
export function createDialplanReader(): DialplanReader {
  const dialled = new Map<string, 'with_number' | 'alone'>()
  const globals = new Map<string, string>()
  let numbered = false

  const note = (endpoint: string, how: 'with_number' | 'alone'): void => {
    const isUsual = bareName(endpoint) !== '' && !endpoint.includes(EXPRESSION)
    if (!isUsual || (dialled.size >= MAX_ENDPOINTS && !dialled.has(endpoint))) return
    if (dialled.get(endpoint) !== 'with_number') dialled.set(endpoint, how)
  }
  /** `${TRUNK}/${EXTEN}` and `PJSIP/${EXTEN}@${TRUNK}`: a trunk whose name is a variable's value. */
  const noteGlobal = (target: string): void => {
    const whole = /^\$\{([A-Za-z]\w*)\}\/./.exec(target)?.[1]
    const [, technology = '', behind = ''] = /^(\w+\/).*@\$\{([A-Za-z]\w*)\}$/.exec(target) ?? []
    if (whole !== undefined && globals.size < MAX_GLOBALS) globals.set(whole, '')
    else if (behind !== '' && globals.size < MAX_GLOBALS) globals.set(behind, technology)
  }
  const target = (text: string): void => {
    for (const [, name = ''] of text.matchAll(/\$\{PJSIP_DIAL_CONTACTS\(([^${}()]+)\)\}/g))
      note(`PJSIP/${name}`, 'alone')
    noteGlobal(text)
    if (FREEPBX_TRUNK.test(text)) numbered = true
    const plain = withoutExpressions(text)
    const technology = /^(\w+)\//.exec(plain)?.[1]
    if (technology === undefined || technology === 'Local') return
    const { endpoint, sent, uri } = readDialString(plain, technology)
    const isPhones = uri && (sent === bareName(endpoint) || sent === '')
    note(endpoint, sent === null || isPhones ? 'alone' : 'with_number')
  }
  return {
    read(application, appData) {
      const at = TARGETS.get(application.toLowerCase())
      if (at === undefined) return
      const argument = split(appData, ',')[at] ?? ''
      for (const one of split(argument, '&')) target(one.trim())
    },
    dialled: () => dialled,
    globals: () => globals,
    get numbered() {
      return numbered
    },
  }
}

/** Applications that dial, and which of their arguments has the targets. */
const TARGETS: ReadonlyMap<string, number> = new Map([
  ['dial', 0],
  ['page', 0],
  ['originate', 0],
  ['retrydial', 3],
])

/** Replaces an expression: no name contains it. */
const EXPRESSION = '\u0001'

/** Returns `PJSIP/${EXTEN:${N}}@trunk` without its expressions. */
function withoutExpressions(text: string): string {
  let depth = 0
  let plain = ''
  for (let at = 0; at < text.length; at++) {
    const opens = text[at] === '$' && (text[at + 1] === '{' || text[at + 1] === '[')
    if (opens) {
      if (depth === 0) plain += EXPRESSION
      depth += 1
      at += 1
    } else if (depth > 0 && (text[at] === '}' || text[at] === ']')) depth -= 1
    else if (depth === 0) plain += text[at]
  }
  return plain
}

/** Splits where no bracket is open. */
function split(text: string, by: string): string[] {
  if (!text.includes(by)) return [text]
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '{' || character === '[' || character === '(') depth += 1
    else if (character === '}' || character === ']' || character === ')') depth -= 1
    else if (character === by && depth <= 0) {
      parts.push(text.slice(from, at))
      from = at + 1
    }
  }
  return [...parts, text.slice(from)]
}
