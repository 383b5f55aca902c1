import { MAX_TEMPLATE_CHARACTERS } from '../../src/templates/limits.ts'
import type { Random } from './random.ts'

/** Templates that are meant to take much: tags that nest, loops, filters one after the other, and text that is no Liquid. */

const PATHS = [
  'data',
  'time',
  'data.name',
  'data.call.from.number',
  'data.call',
  'data.stages',
  'data.call.variables',
  's',
  'a',
  'data.__proto__',
  'data.constructor.constructor',
  'forloop',
  'i',
  '"x"',
  '1',
  '-1',
  '1e308',
  'nil',
  'true',
  '(1..9999)',
  '(1..s)',
  '(s..a)',
  '(1..a)',
  '9007199254740992',
  '-9007199254740993',
  '99999999999999999999999',
]
const FILTERS = [
  'append: s',
  'prepend: "xxxxxxxx"',
  'replace: "a", "aaaaaaaa"',
  'replace: "x", s',
  'split: ""',
  'split: s',
  'join: ","',
  'join: s',
  'concat: data.stages',
  'concat: a',
  'sort',
  'uniq',
  'map: "name"',
  'where: "name", "x"',
  'json',
  'date: "%999999d"',
  'date: "%99999999999N"',
  'times: 1e9',
  'times: 9007199254740992',
  'divided_by: 0',
  'modulo: 0',
  'plus: 9007199254740992',
  'slice: -9, 99',
  'slice: 0, 99999999999',
  'truncate: 99999999',
  'truncate: 9, s',
  'url_encode',
  'escape',
  'base64_encode',
  'newline_to_br',
  'size',
  'reverse',
  'first',
  'compact',
  'default: a',
  'round: 300',
  'remove: s',
  'upcase',
]
const RANGES = [
  '(1..100000)',
  '(1..50)',
  '(1..a)',
  '(s..a)',
  '(9007199254740992..9007199254740994)',
  '(1..99999999999)',
  '(-9007199254740994..-9007199254740992)',
  'data.stages',
  'a',
  's',
  'data',
]
const NO_LIQUID = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{% endfor %}',
  '{% raw %}',
  '{{ {{ }}',
  '\u0000',
  '\ud800',
  '{% include "x" %}',
]
const OPERATORS = ['==', '!=', 'contains', '<', '>=', 'and', 'or']

/** Returns a template that is short enough to be rendered. */
export function hostileTemplate(random: Random): string {
  for (;;) {
    const text = templateOf(random, 0)
    if (text.length <= MAX_TEMPLATE_CHARACTERS) return text
  }
}

function templateOf(random: Random, depth: number): string {
  const value = () =>
    [random.pick(PATHS), ...Array.from({ length: random.int(4) }, () => random.pick(FILTERS))].join(' | ')
  const inner = () => (depth > 4 ? '' : templateOf(random, depth + 1))
  const name = () => random.pick(['s', 'a'])
  const condition = () => `${random.pick(PATHS)} ${random.pick(OPERATORS)} ${random.pick(PATHS)}`
  const parts: readonly (() => string)[] = [
    () => `{{ ${value()} }}`,
    () => `{% assign ${name()} = ${value()} %}`,
    () =>
      `{% for i in ${random.pick(RANGES)} ${random.pick(['', 'reversed', 'offset: a', 'limit: 1e9'])} %}${inner()}{% endfor %}`,
    () => `{% capture ${name()} %}{{ s }}{{ s }}${inner()}{% endcapture %}`,
    () => `{% capture ${name()} %}${'9'.repeat(random.int(500))}${inner()}{% endcapture %}`,
    () =>
      `{% if ${condition()}${` or ${condition()}`.repeat(random.int(5))} %}${inner()}{% else %}${inner()}{% endif %}`,
    () => `{% case ${random.pick(PATHS)} %}{% when "x", a, s %}${inner()}{% endcase %}`,
    () =>
      `{% assign s = "${random.pick(['x', 'a', ' ', '9', '<'])}" %}{% for i in (1..${random.int(70)}) %}{% assign s = s | append: s %}{% endfor %}`,
    () => `{% assign a = data.stages %}{% for i in (1..${random.int(70)}) %}{% assign a = a | concat: a %}{% endfor %}`,
    () => (random.chance(0.03) ? random.pick([...NO_LIQUID, '{{ s | nonsense }}']) : 'text '.repeat(random.int(20))),
  ]
  return Array.from({ length: 1 + random.int(6) }, () => random.pick(parts)()).join('')
}
