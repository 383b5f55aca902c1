import { bareName } from '../endpoints/endpoint-classifier.ts'
import { readDialString } from './dial-string.ts'

/**
 * Reads from a dialplan which endpoints it dials, and how: a trunk is dialled with a number, a phone without one. An
 * expression (`${EXTEN}`) counts as some number; an endpoint that is itself an expression is unknown, except for global
 * variables.
 */
export type DialplanReader = {
  read(application: string, appData: string): void
  dialled(): ReadonlyMap<string, 'with_number' | 'alone'>
  /** Returns the global variables that name a trunk, each with the text before its value (`PJSIP/` or none). */
  globals(): ReadonlyMap<string, string>
  /** FreePBX stores its trunks in `OUT_1`, `OUT_2` … */
  readonly numbered: boolean
}

/** FreePBX has a few trunks, and so do hand-written dialplans; further variables are not requested. */
const MAX_GLOBALS = 50
/** More than any PBX has. */
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
  /** `${TRUNK}/${EXTEN}` and `PJSIP/${EXTEN}@${TRUNK}`: a variable has the name of the trunk. */
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

/** Applications that dial, and the position of the targets in their arguments. */
const TARGETS: ReadonlyMap<string, number> = new Map([
  ['dial', 0],
  ['page', 0],
  ['originate', 0],
  ['retrydial', 3],
])

/** Stands for an expression: no name contains it. */
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

/** Splits outside of brackets. */
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
