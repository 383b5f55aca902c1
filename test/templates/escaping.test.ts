import { describe, expect, test } from 'bun:test'
import { type Escaping, escapingOf } from '../../src/templates/content-escaping.ts'
import { readTemplate } from '../../src/templates/template.ts'
import type { Random } from '../help/random.ts'
import { playCase, seedsOf } from '../help/seed.ts'

const NAME = 'A "B" <c> & d\\'
const DATA = {
  time: '2026-11-20T21:51:36.014118Z',
  data: { name: NAME, count: 3, ok: false, none: null, list: ['x', 'y'], call: { id: 'c1' } },
  parameters: { users: { '101': '7', '102': '8' } },
}

/** Returns the result of a step's template, or the sentence with which it is refused. */
function resultOf(template: string, escaping: Escaping = 'none', data: object = DATA): string {
  const read = readTemplate(template, escaping)
  const rendered = typeof read === 'function' ? read(data) : read
  return 'problem' in rendered ? `error: ${rendered.problem}` : rendered.text
}

test.each([
  ['application/json', 'json'],
  ['application/vnd.api+json; charset=utf-8', 'json'],
  ['text/json', 'json'],
  ['Application/XML', 'xml'],
  ['application/soap+xml; charset=utf-8', 'xml'],
  ['text/html', 'xml'],
  ['application/x-www-form-urlencoded; charset=utf-8', 'form'],
  ['text/plain', 'none'],
  ['application/octet-stream', 'none'],
])('a body of %s is escaped as %s', (type, escaping) => expect(escapingOf(type)).toBe(escaping as Escaping))

const PARTIES = {
  data: { party: { name: 'A&B', toString: 1 }, parties: [{ name: 'A' }, { name: 'B' }], codes: ['x', 7] },
}

describe('an object, or a list with one, is JSON in a text', () => {
  test.each<[string, Escaping | undefined, string, string]>([
    ['of a body', undefined, 'who={{ data.party }}', 'who={"name":"A&B","toString":1}'],
    ['of a list', undefined, '{{ data.parties }}', '[{"name":"A"},{"name":"B"}]'],
    ['of a form', 'form', 'who={{ data.parties[0] }}', 'who=%7B%22name%22%3A%22A%22%7D'],
    ['of a URL', 'url', 'a?b={{ data.parties }}', 'a?b=%5B%7B%22name%22%3A%22A%22%7D%2C%7B%22name%22%3A%22B%22%7D%5D'],
    ['of XML', 'xml', '<a>{{ data.parties[0] }}</a>', '<a>{&quot;name&quot;:&quot;A&quot;}</a>'],
    ['of a header', 'header', '{{ data.parties[0] }}', '{"name":"A"}'],
    ['in a string of JSON', 'json', '["{{ data.parties[0] }}"]', '["{\\"name\\":\\"A\\"}"]'],
    ['through raw', 'form', '{{ data.parties[0] | raw }}', '{"name":"A"}'],
    [
      'through append',
      undefined,
      '{{ data.parties[0] | append: data.party }}',
      '{"name":"A"}{"name":"A&B","toString":1}',
    ],
    ['through escape', undefined, '{{ data.parties[0] | escape }}', '{&#34;name&#34;:&#34;A&#34;}'],
    ['through url_encode', undefined, '{{ data.parties[0] | url_encode }}', '%7B%22name%22%3A%22A%22%7D'],
    ['through join', undefined, '{{ data.parties | join: ";" }}', '{"name":"A"};{"name":"B"}'],
    [
      'but a list of texts and numbers is as Liquid prints it',
      undefined,
      '{{ data.codes }}{{ data.codes | join }}',
      'x7x 7',
    ],
  ])('%s', (_, escaping, template, text) => {
    const read = readTemplate(template, escaping)
    const rendered = typeof read === 'function' ? read(PARTIES) : read
    expect(rendered).toMatchObject({ text })
  })
})

describe('the output of a step', () => {
  test.each<[string, Escaping, string, string]>([
    ['in a string of JSON', 'json', '{"a":"{{ data.name }}"}', '{"a":"A \\"B\\" <c> & d\\\\"}'],
    ['for a name in JSON', 'json', '{"{{ data.name }}":1}', '{"A \\"B\\" <c> & d\\\\":1}'],
    [
      'outside a string is a JSON value',
      'json',
      '[{{ data.name }},{{ data.count }},{{ data.ok }},{{ data.list }}]',
      '["A \\"B\\" <c> & d\\\\",3,false,["x","y"]]',
    ],
    [
      'without a value is null',
      'json',
      '{"a":{{ data.none }},"b":{{ nothing }},"c":"{{ nothing }}"}',
      '{"a":null,"b":null,"c":""}',
    ],
    [
      'after json is not escaped again',
      'json',
      '{"a":{{ data.name | json }},"b":{{ data.call | json }}}',
      '{"a":"A \\"B\\" <c> & d\\\\","b":{"id":"c1"}}',
    ],
    [
      'that was assigned after json neither',
      'json',
      '{% assign a = data.name | json %}[{{ a }}]',
      '["A \\"B\\" <c> & d\\\\"]',
    ],
    [
      'after json and another filter is plain again',
      'json',
      '[{{ data.list | json | append: "!" }}]',
      '["[\\"x\\",\\"y\\"]!"]',
    ],
    ['of a capture', 'json', '{% capture a %}{{ data.name }}{% endcapture %}["{{ a }}"]', '["A \\"B\\" <c> & d\\\\"]'],
    ['of echo', 'json', '[{% echo data.name %}]', '["A \\"B\\" <c> & d\\\\"]'],
    ['as it is', 'json', '{{ "[1]" | raw }}', '[1]'],
    [
      'in XML',
      'xml',
      '<a b="{{ data.name }}">{{ data.name }}</a>',
      '<a b="A &quot;B&quot; &lt;c&gt; &amp; d\\">A &quot;B&quot; &lt;c&gt; &amp; d\\</a>',
    ],
    ['after escape is not escaped again', 'xml', '<a>{{ "<" | escape }}</a>', '<a>&lt;</a>'],
    [
      'in a section of characters',
      'xml',
      '<a><![CDATA[{{ "]]><b/>" }}]]></a>',
      '<a><![CDATA[]]>]]&gt;&lt;b/&gt;<![CDATA[]]></a>',
    ],
    ['in a comment', 'xml', '<!-- {{ "--><b/>" }} -->', '<!-- __><b/> -->'],
    ['that XML cannot write', 'xml', '<a>{{ name }}</a>', '<a>\uFFFD\uFFFD</a>'],
    ['in a form', 'form', 'a={{ data.name }}&b={{ "x y" | url_encode }}', 'a=A+%22B%22+%3Cc%3E+%26+d%5C&b=x+y'],
    ['of JSON in a form', 'form', 'a={{ data.call | json }}', 'a=%7B%22id%22%3A%22c1%22%7D'],
    [
      'in a URL',
      'url',
      ' /a/{{ "x/y?z" }}?n={{ "+49 30" }}&u={{ "+" | url_encode }} ',
      '/a/x%2Fy%3Fz?n=%2B49%2030&u=%2B',
    ],
    ['in a URL as it is', 'url', '{{ "https://example.com/a?b" | raw }}', 'https://example.com/a?b'],
    ['in a header', 'header', ' Token {{ "é\r\nx: y" }}\n', 'Token ???x: y'],
    ['without escaping', 'none', '{{ data.name }}{{ data.count }}', `${NAME}3`],
  ])('%s', (_, escaping, template, expected) => {
    expect(resultOf(template, escaping, { ...DATA, name: '\u0000\uD800' })).toBe(expected)
  })

  test.each<[string, Escaping, string, RegExp]>([
    [
      'after a backslash',
      'json',
      '["\\{{ data.name }}"]',
      /line 1, column 4: an output cannot stand after a backslash/,
    ],
    ['that is a segment of dots', 'url', '/a/{{ ".." }}/b', /segment of dots/],
  ])('%s is refused', (_, escaping, template, problem) => expect(resultOf(template, escaping)).toMatch(problem))

  test('has nothing of the engine behind an escaped text', () => {
    const template =
      '{% assign a = data.name | json %}{{ a.constructor }}{{ a.text }}{{ a.by }}{{ a.valueOf }}{{ a.size }}'
    expect(resultOf(template)).toBe(String(JSON.stringify(NAME).length))
  })
})

describe('a filter of steps', () => {
  test.each([
    ['{{ "+49 (30) 123-456" | digits }}', '4930123456'],
    ['{{ "+49 30 123456" | last_digits: 4 }}', '3456'],
    ['{{ "12" | last_digits: 4 }}', '12'],
    ['{{ "abc" | md5 }}', '900150983cd24fb0d6963f7d28e17f72'],
    ['{{ "+4930123456" | national }}', '030123456'],
    ['{{ "+998712345678" | national }}', '712345678'],
    [
      '{{ "+12125021060" | spellings | join: "; " }}',
      '+12125021060; 12125021060; +1 212 502 1060; +1 212-502-1060; +1 2125021060; +1-2125021060; ' +
        '+1-212-502-1060; (212) 502-1060; 2125021060; 212-502-1060; 212 502 1060',
    ],
    [
      '{{ "+4930123456" | spellings | json }}',
      '["+4930123456","4930123456","+49 30 123456","+49 30-123456","+49 30123456","+49-30123456","+49-30-123456","030 123456","030123456","30-123456","30 123456","30123456"]',
    ],
    ['{{ "030 123" | spellings | json }}{{ "carrier" | spellings | json }}', '["030 123","030123"]["carrier"]'],
    ['{{ none | spellings | json }}', '[]'],
    ['{{ "030 123" | national }}{{ none | national }}', '030123'],
    [
      '{{ time | seconds }} {{ time | seconds | times: 1000 }} [{{ none | seconds }}{{ "x" | seconds }}]',
      '1795211496 1795211496000 []',
    ],
    ['{{ time | local_time: "Europe/Berlin", "%Y-%m-%dT%H:%M:%S%:z" }}', '2026-11-20T22:51:36+01:00'],
    [
      '{{ "2026-07-01T23:30:00Z" | local_time: "Asia/Tashkent", "%d.%m.%y %I:%M %p %z %a %b %j" }}',
      '02.07.26 04:30 AM +0500 Thu Jul 183',
    ],
    ['{{ "2026-03-29T00:59:59.999Z" | local_time: "Europe/Berlin", "%T.%L" }}', '01:59:59.999'],
    ['{{ "2026-03-29T01:00:00Z" | local_time: "Europe/Berlin", "%T" }}', '03:00:00'],
    ['[{{ none | local_time: "UTC", "%Y" }}]', '[]'],
    [
      '{{ "101" | map: parameters.users }}[{{ "999" | map: parameters.users }}{{ "101" | map: parameters.none }}]',
      '7[]',
    ],
    ['{{ "constructor" | map: parameters.users }}{{ "__proto__" | map: parameters.users }}', ''],
    ['{% assign l = "101,999,102" | split: "," %}{{ l | map: parameters.users | compact | join: "," }}', '7,8'],
    ['{{ data.list | map: "size" | join: "," }}', '1,1'],
  ])('%s', (template, expected) => expect(resultOf(template)).toBe(expected))

  test.each([
    [
      '{{ time | local_time: "Nowhere/Land", "%Y" }}',
      'error: line 1, column 1: "Nowhere/Land" is no time zone such as "Europe/Berlin"',
    ],
    [
      '{{ time | local_time: "UTC", "%Q" }}',
      'error: line 1, column 1: the format of local_time has %Q, which is not known',
    ],
    ['{{ time | local_time: "UTC" }}', 'error: line 1, column 1: local_time needs a zone and a format'],
    ['{{ "1" | last_digits }}', 'error: line 1, column 1: last_digits needs a number of digits'],
  ])('%s is refused', (template, expected) => expect(resultOf(template)).toStartWith(expected))

  test.each(['raw', 'digits', 'national', 'spellings', 'seconds', 'last_digits: 2', 'local_time: "UTC", "%Y"'])(
    '%s is none of a webhook without a flow',
    (filter) => {
      const read = readTemplate(`{{ time | ${filter} }}`)
      expect(read).toHaveProperty('problem', `line 1, column 1: undefined filter: ${filter.split(':')[0]}`)
    },
  )
})

/** Texts that break out of something. */
const HOSTILE = [
  '"',
  '\\',
  "'",
  '\\"',
  '","admin":true,"x":"',
  '"}]',
  '\u0000',
  '\n',
  '\r\n',
  '\u2028',
  '\uD800',
  '\uDC00x',
  '😀',
  '<',
  '>',
  '&',
  ']]>',
  '-->',
  '<!--',
  '</a>',
  '<b c="d">',
  '&amp;',
  '/',
  '?',
  '#',
  '=',
  '+',
  '%',
  '%2e%2e',
  '%00',
  ' ',
  ';',
  ':',
  '//',
  'x',
  '{{',
  '}}',
  '{%',
  ',',
  '1',
  'true',
  '@',
  '\t',
]
const hostile = (random: Random): string => Array.from({ length: random.int(6) }, () => random.pick(HOSTILE)).join('')

type Json = string | number | null | Json[] | { [key: string]: Json }
/** The structure of a JSON value: everything but texts. */
function shapeOf(value: unknown): Json {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
  return typeof value
}

/** The elements and attributes of a document. */
function elementsOf(document: string): string[] {
  const seen: string[] = []
  new HTMLRewriter()
    .on('*', {
      element: ({ tagName, attributes }) =>
        void seen.push([tagName, ...Array.from(attributes, ([name]) => name)].join(' ')),
    })
    .transform(document)
  return seen
}

const VALUES = ['a', 'b', 'c'] as const
const JSON_BODY =
  '{"a":"{{ a }}","list":["x{{ b }}y",{{ c }},{"d":"{{ c }}{{ a }}","e":{{ a | json }}}],"f":{{ n }},{% if a contains "x" %}"g":"{{ b }}"{% else %}"g":"{{ c }}"{% endif %}}'
const XML_BODY = '<r a="{{ a }}" b=\'{{ b }}\'><x>{{ c }}</x><y>{{ a }}{{ b }}</y><z>{{ c | escape }}</z></r>'
const FORM_BODY = 'a={{ a }}&b[x]={{ b }}&c={{ c | url_encode }}&d={{ a | json }}&e={{ b | escape }}'
const URL_TEMPLATE = '/v1/{{ a }}/calls/x{{ b }}/end?q={{ c }}&r={{ a }}{{ b }}'

describe('no value of a caller changes', () => {
  const valuesOf = (random: Random) => ({
    a: hostile(random),
    b: hostile(random),
    c: hostile(random),
    n: random.int(9),
  })
  const plain = { a: 'x', b: 'x', c: 'x', n: 1 }

  test('the structure of a JSON body', () => {
    const shape = shapeOf(JSON.parse(resultOf(JSON_BODY, 'json', plain)))
    for (const seed of seedsOf(25_001, 400))
      playCase(seed, (random) => {
        const values = valuesOf(random)
        const parsed = JSON.parse(resultOf(JSON_BODY, 'json', values))
        expect(shapeOf(parsed)).toEqual(shape)
        expect(parsed.a).toBe(values.a)
        expect(parsed.list[1]).toBe(values.c)
        expect(parsed.list[2]).toEqual({ d: values.c + values.a, e: values.a })
      })
  })

  test('the elements and attributes of XML', () => {
    const elements = elementsOf(resultOf(XML_BODY, 'xml', plain))
    for (const seed of seedsOf(25_002, 400))
      playCase(seed, (random) => expect(elementsOf(resultOf(XML_BODY, 'xml', valuesOf(random)))).toEqual(elements))
  })

  test('the keys of a form', () => {
    for (const seed of seedsOf(25_003, 400))
      playCase(seed, (random) => {
        const values = valuesOf(random)
        const form = new URLSearchParams(resultOf(FORM_BODY, 'form', values))
        expect([...form.keys()]).toEqual(['a', 'b[x]', 'c', 'd', 'e'])
        expect([form.get('a'), form.get('b[x]'), form.get('c')]).toEqual(
          VALUES.map((name) => values[name].toWellFormed()),
        )
        expect(form.get('d')).toBe(JSON.stringify(values.a))
      })
  })

  test('the segments of the path and the keys of the query', () => {
    for (const seed of seedsOf(25_004, 400))
      playCase(seed, (random) => {
        const values = valuesOf(random)
        const text = resultOf(URL_TEMPLATE, 'url', values)
        const url = new URL(`https://crm.example${text}`)
        expect(url.host + url.hash).toBe('crm.example')
        const [, v1, a, calls, b, end, ...rest] = url.pathname.split('/')
        expect([v1, calls, end, ...rest]).toEqual(['v1', 'calls', 'end'])
        expect([a, b].map((one) => decodeURIComponent(one ?? ''))).toEqual([
          values.a.toWellFormed(),
          `x${values.b.toWellFormed()}`,
        ])
        expect([...url.searchParams.keys()]).toEqual(['q', 'r'])
        expect(url.searchParams.get('q')).toBe(values.c.toWellFormed())
      })
  })

  test('the line of a header', () => {
    for (const seed of seedsOf(25_005, 400))
      playCase(seed, (random) => expect(resultOf('x {{ a }} y{{ b }}', 'header', valuesOf(random))).toMatch(/^[ -~]*$/))
  })
})
