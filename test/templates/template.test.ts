import { describe, expect, test } from 'bun:test'
import type { Escaping } from '../../src/templates/content-escaping.ts'
import { MAX_TEMPLATE_CHARACTERS } from '../../src/templates/limits.ts'
import { readTemplate } from '../../src/templates/template.ts'

const ESCAPINGS: readonly Escaping[] = ['json', 'xml', 'form', 'url', 'header', 'none']

const list = Array.from({ length: 100 }, (_, at) => ({ at, text: 'x'.repeat(20) }))
const DATA = {
  time: '2026-11-20T21:51:36.014118Z',
  data: { name: 'call_started', from: { number: '+4930', name: 'A "B"' }, list, nothing: null },
}

/** Returns the result of a template, or the sentence with which it is refused. */
function resultOf(template: string, escaping?: Escaping): string {
  const read = readTemplate(template, escaping)
  const rendered = typeof read === 'function' ? read(DATA) : read
  return 'problem' in rendered ? `error: ${rendered.problem}` : rendered.text
}

describe('a template', () => {
  test.each([
    ['has the time and the data', '{{ time }} {{ data.name }}', '2026-11-20T21:51:36.014118Z call_started'],
    [
      'writes JSON',
      '{"name":{{ data.from.name | json }},"no":{{ data.none | json }}}',
      '{"name":"A \\"B\\"","no":null}',
    ],
    ['has conditions', '{% if data.name == "call_ended" %}x{% endif %}', ''],
    ['has loops', '{% for one in data.list limit: 3 %}{{ one.at }},{% endfor %}', '0,1,2,'],
    ['has filters', '{{ data.from.number | replace: "+", "00" | append: "!" }}', '004930!'],
    [
      'selects by a property',
      '{{ data.list | where: "at", 7 | map: "at" | join }} {{ data.list | where: "no.such" | size }}',
      '7 0',
    ],
    ['gives dates in UTC', '{{ time | date: "%H:%M" }}', '21:51'],
    ['prints nothing for what there is not', '[{{ data.nothing }}{{ data.none.of.it }}]', '[]'],
  ])('%s', (_, template, expected) => expect(resultOf(template)).toBe(expected))

  test.each([
    ['{{ data.name', 'line 1, column 1: output "{{ data.name" not closed'],
    ['a\nb {% if %}', 'line 2, column 8: '],
    ['{{ data.name | nonsense }}', 'line 1, column 1: undefined filter: nonsense'],
    ['{% nonsense %}', 'line 1, column 1: tag "nonsense" not found'],
    ['{% include "x" %}', 'line 1, column 1: tag "include" not found'],
    ['{% render "/etc/passwd" %}', 'line 1, column 1: tag "render" not found'],
    ['{% layout "x" %}', 'line 1, column 1: tag "layout" not found'],
  ])('%s is refused where it is wrong', (template, message) =>
    expect(resultOf(template)).toStartWith(`error: ${message}`),
  )
})

const doubled = (seed: string, times: number) =>
  `{% assign s = "${seed}" %}{% for i in (1..${times}) %}{% assign s = s | append: s %}{% endfor %}`

/** A list of 2 ** (times + 1) references to a value. */
const listOf = (value: string, times: number) =>
  `{% assign a = ${value} | concat: ${value} %}{% for i in (1..${times}) %}{% assign a = a | concat: a %}{% endfor %}`
const LONG_LISTS = '{% assign a = (1..100000) %}{% assign b = (1..100000) %}'

/** Nothing here ends by itself in any time that would do. */
const HOSTILE: Readonly<Record<string, string>> = {
  'a list that holds a large text many times': `${doubled('x', 15)}${listOf('s', 12)}{{ a }}`,
  'such a list as JSON': `${doubled('x', 15)}${listOf('s', 12)}{{ a | json }}`,
  'such a list in a filter of texts': `${doubled('x', 15)}${listOf('s', 12)}{{ a | upcase | size }}`,
  'such a list that is sorted': `${doubled('x', 15)}${listOf('s', 12)}{% assign b = a | sort %}`,
  'a long list that is sorted': '{% assign a = (1..100000) | sort %}',
  'a list that is mapped again and again': `{% assign a = (1..20000) ${'| map: "x"'.repeat(400)} %}`,
  'long lists that are compared in one condition': `${LONG_LISTS}{% if a == b${' or a == b'.repeat(800)} %}x{% endif %}`,
  'a long list that is searched in one condition': `${LONG_LISTS}{% if a contains 0${' or a contains 0'.repeat(800)} %}x{% endif %}`,
  'long lists that are compared in a case': `${LONG_LISTS}{% case a %}{% when ${'b,'.repeat(5000)}b %}x{% endcase %}`,
  'a long text that is searched for': `${doubled('ab', 13)}{{ s | split: s | size }}`,
  'a long text that is searched for by an operator': `${doubled('ab', 13)}{% if s contains s %}x{% endif %}`,
  'brackets within brackets': `{{ ${'a['.repeat(5000)}1${']'.repeat(5000)} }}`,
  'a list without an end': '{% for i in (1..100000000) %}x{% endfor %}',
  'loops within loops':
    '{% for i in (1..9999) %}{% for j in (1..9999) %}{% for k in (1..9999) %}{% endfor %}{% endfor %}{% endfor %}',
  'text that doubles': `${doubled('xxxxxxxx', 60)}{{ s }}`,
  'captured text that doubles':
    '{% capture s %}xxxxxxxx{% endcapture %}{% for i in (1..60) %}{% capture s %}{{ s }}{{ s }}{% endcapture %}{% endfor %}{{ s }}',
  'text that is replaced by more of it':
    '{% assign s = "aaaaaaaaaaaaaaaa" %}{% for i in (1..40) %}{% assign s = s | replace: "a", "aaaaaaaaaaaaaaaa" %}{% endfor %}{{ s }}',
  'output without an end': '{% for i in (1..100000) %}{{ data | json }}{% endfor %}',
  'large output of little': `${doubled('xxxxxxxx', 15)}{% for i in (1..100000) %}{{ s }}{% endfor %}`,
  'a list that is sorted again and again':
    '{% for i in (1..10000) %}{% assign a = data.list | concat: data.list | sort: "text" | uniq | map: "at" %}{% endfor %}',
  'a list that doubles':
    '{% assign a = data.list %}{% for i in (1..60) %}{% assign a = a | concat: a %}{% endfor %}{{ a | size }}',
  'text that is split': `${doubled('x', 17)}{% for i in (1..1000) %}{% assign a = s | split: "" | sort | join: "," %}{% endfor %}`,
  'a range beyond the whole numbers': '{% for i in (9007199254740992..9007199254740994) %}{% endfor %}',
  'a range below them': '{% for i in (-9007199254740994..-9007199254740992) %}{% endfor %}',
  'a range to a number that is computed':
    '{% assign a = 9007199254740992 | times: 100 %}{% assign b = a | plus: 1024 %}{{ (a..b) | size }}',
  'a range to text without digits': `${doubled('x', 17)}{% for i in (1..s) %}{% endfor %}`,
  'a range within brackets and a filter': '{{ "x" | append: (9007199254740992..9007199254740994) }}',
  'captured text that is no output': `{% capture a %}{% for i in (1..50000) %}${'9'.repeat(15_000)}{% endfor %}{% endcapture %}{% for c in (1..a) %}{% endfor %}`,
  'text that is no output': `{% for i in (1..50000) %}${'9'.repeat(15_000)}{% endfor %}`,
  'lists of lists that are compared': `${listOf('data.list', 8)}{% assign b = a | map: "none" %}{% for i in (1..9999) %}{% if a == b or b == a %}{% endif %}{% endfor %}`,
  'a long text that is searched for a long one again and again': `${doubled('a', 18)}{% assign p = s | slice: 0, 900 | append: "b" %}{% if ${'s contains p or '.repeat(500)} p == s %}x{% endif %}`,
  'a date of great width': '{{ time | date: "%999999999d" }}',
  'a format of great length': `${doubled('%c', 12)}{{ time | date: s }}`,
  'ten thousand tags within each other': '{%if 1%}'.repeat(10_000) + '{%endif%}'.repeat(10_000),
  'as deep as fits': '{%if 1%}'.repeat(900) + '{%endif%}'.repeat(900),
  'a template that is too long': 'x'.repeat(MAX_TEMPLATE_CHARACTERS + 1),
}

test.each([
  ['[{{ data.list | sort: "at" | map: "at" | first }}]', '[0]'],
  ['{{ "b,a,c" | split: "," | sort | join }}', 'a b c'],
  ['{{ data.list | map: "text" | uniq | size }}', '1'],
  ['{% if data.list == data.list %}same{% endif %}{% if data.from.number contains "49" %}!{% endif %}', 'same!'],
  ['{% case data.name %}{% when "call_ended", "call_started" %}yes{% else %}no{% endcase %}', 'yes'],
  ['{% case data.none %}{% when empty %}empty{% when nil %}none{% endcase %}', 'none'],
  ['{{ data.list[0].at }}{{ data["name"] }}{% assign k = "name" %}{{ data[k] }}', '0call_startedcall_started'],
  ['[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[{{ 1 }}', `${'['.repeat(40)}1`],
  ['{{ data | json | size }}', String(JSON.stringify(DATA.data).length)],
  ['{{ data.nothing | json }}{{ data.nothing | default: "-" }}', 'null-'],
  ['{{ data.list | size }} {{ data.list.size }} {{ data.list | first | map: "at" }}', '100 100 0'],
])('%s is no hostile one', (template, expected) => expect(resultOf(template)).toBe(expected))

describe('a hostile template', () => {
  const REFUSED =
    /^error: ((line \d+, column \d+: )?(takes longer|needs more memory|a date|compares or sorts|searches for|has a range)|may have .* at most$|gives more than)/
  test.each(Object.entries(HOSTILE))('%s costs little, and a clear error', (_, template) => {
    expect(resultOf(template)).toMatch(REFUSED)
  })
  test.each(Object.entries(HOSTILE))('%s in a step too', (_, template) => {
    for (const escaping of ESCAPINGS) expect(resultOf(template, escaping)).toMatch(REFUSED)
  })

  test.each([
    'data.constructor',
    'data.__proto__',
    'data["__proto__"]["polluted"]',
    'data.name.constructor.constructor',
    'data.list.constructor',
    'data.toString',
    'data.list.map',
    '"x".__proto__',
    'data.hasOwnProperty',
    'this',
    'globalThis',
    'process.env',
  ])('sees nothing through %s', (path) => expect(resultOf(`[{{ ${path} }}]`)).toBe('[]'))
})

/** Texts of some hundred thousand characters, on which a careless pattern takes seconds. */
const FILTERS =
  'abs at_least:1 capitalize ceil compact concat:data.list date:"%Y" default:1 divided_by:2 downcase escape first join json last lstrip map:"x" minus:1 modulo:2 newline_to_br plus:1 prepend:"x" remove:"x" replace:"x","y" reverse round rstrip size slice:0 sort split:"" strip strip_newlines times:2 truncate:9 uniq upcase url_encode base64_encode where:"x" remove_first:"x" replace_first:"x","y"'
const STEP_FILTERS =
  'raw digits last_digits:2 national prepend:"+"|national spellings prepend:"+"|spellings seconds prepend:"2026-"|seconds local_time:"UTC","%Y" map:data json url_encode'
describe('no filter takes long on what fits into the memory', () => {
  test.each([
    ...FILTERS.split(' ').map((filter) => [filter, undefined] as const),
    ...STEP_FILTERS.split(' ').flatMap((filter) => ESCAPINGS.map((escaping) => [filter, escaping] as const)),
  ])('%s %s', (filter, escaping) => {
    for (const seed of [' ', '<', '&', 'x', '1', '\\n', '-']) {
      const startedMs = performance.now()
      resultOf(
        `${doubled(seed, 15)}{% assign t = s | append: "x" | append: s | ${filter} %}{{ t | size }}${escaping === undefined ? '' : '{{ t }}'}`,
        escaping,
      )
      const tookMs = performance.now() - startedMs
      if (tookMs > 25) console.log(`${filter} of ${JSON.stringify(seed)}: ${tookMs.toFixed(1)} ms`)
      // Quadratic work would take minutes.
      expect(tookMs).toBeLessThan(5_000)
    }
  })
})
