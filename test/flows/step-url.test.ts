import { describe, expect, test } from 'bun:test'
import { joinStepUrl, urlForLog, urlTemplateProblem } from '../../src/flows/step-url.ts'

const ORIGINS = ['https://files.example', 'https://api.example:8443']

describe("a rendered URL is joined to the webhook's URL", () => {
  const cases: [webhook: string, rendered: string, expected: string][] = [
    ['https://crm.example/rest/1/key', 'calls.json', 'https://crm.example/rest/1/key/calls.json'],
    ['https://crm.example/rest/1/key/', 'calls.json', 'https://crm.example/rest/1/key/calls.json'],
    ['https://crm.example', 'calls', 'https://crm.example/calls'],
    ['https://crm.example/rest', '/api/v4/calls', 'https://crm.example/api/v4/calls'],
    ['https://crm.example/rest/', '', 'https://crm.example/rest/'],
    ['https://crm.example/rest?key=1', '', 'https://crm.example/rest?key=1'],
    ['https://crm.example/rest?key=1', '?a=2', 'https://crm.example/rest?key=1&a=2'],
    ['https://crm.example/rest/?key=1', 'calls?a=2', 'https://crm.example/rest/calls?key=1&a=2'],
    ['https://crm.example/rest', '\n  calls\n', 'https://crm.example/rest/calls'],
    ['https://me:key@crm.example/rest', 'calls', 'https://me:key@crm.example/rest/calls'],
    ['https://me:key@crm.example/rest', 'https://crm.example/x', 'https://me:key@crm.example/x'],
    ['https://me:key@crm.example/rest?a=1', 'https://files.example/x?b=2', 'https://files.example/x?b=2'],
    ['https://crm.example/rest', 'https://API.example:8443/x', 'https://api.example:8443/x'],
    ['https://crm.example/rest', 'calls#part', 'https://crm.example/rest/calls'],
    ['https://crm.example/rest', 'contacts/%2E%2E%2F1', 'https://crm.example/rest/contacts/%2E%2E%2F1'],
    // None of these leaves the host.
    ['https://crm.example', '//evil.example/x', 'https://crm.example//evil.example/x'],
    ['https://crm.example', '@evil.example/x', 'https://crm.example/@evil.example/x'],
    ['https://crm.example', ':80@evil.example', 'https://crm.example/:80@evil.example'],
    ['https://crm.example', '.evil.example', 'https://crm.example/.evil.example'],
    ['https://crm.example', '?@evil.example', 'https://crm.example/?@evil.example'],
  ]
  test.each(cases)('%s and %j', (webhook, rendered, expected) => {
    expect(joinStepUrl(webhook, rendered, ORIGINS)).toEqual({ url: expected })
  })

  const refused: [string, RegExp][] = [
    ['https://evil.example/x', /origin of the webhook/],
    ['https://crm.example.evil.example/', /origin of the webhook/],
    ['https://crm.example@evil.example/', /origin of the webhook/],
    ['https://crm.example:8443/', /origin of the webhook/],
    ['http://crm.example/', /origin of the webhook/],
    ['https://api.example/', /origin of the webhook/],
    ['https:evil.example', /origin of the webhook/],
    ['https:/evil.example/', /origin of the webhook/],
    ['HTTPS://EVIL.example/', /origin of the webhook/],
    ['file:///etc/passwd', /origin of the webhook/],
    ['data:text/plain,x', /origin of the webhook/],
    ['https://me:key@files.example/', /user and password/],
    ['https://me:key@crm.example/', /user and password/],
    ['\\\\evil.example', /backslash/],
    ['/\\evil.example', /backslash/],
    ['/a b', /space/],
    ['/a\r\nhost: evil', /control/],
    ['/a\u0000', /control/],
    ['/a\ud800', /half of a surrogate pair/],
    ['https://', /no URL/],
    ['../admin', /`\.\.` segment/],
    ['/contacts/../admin', /`\.\.` segment/],
    ['/contacts/%2e%2E/admin', /`\.\.` segment/],
    ['contacts/.%2e', /`\.\.` segment/],
    ['https://files.example/../x', /`\.\.` segment/],
  ]
  test.each(refused)('%j is refused', (rendered, reason) => {
    expect(joinStepUrl('https://crm.example/rest', rendered, ORIGINS)).toEqual({
      problem: expect.stringMatching(reason),
    })
  })

  test('one that is too long is refused', () => {
    const problem = 'the URL has more than 8192 characters'
    expect(joinStepUrl('https://crm.example/rest', `?q=${'x'.repeat(8_190)}`, ORIGINS)).toEqual({ problem })
  })
})

describe('a template of a URL', () => {
  const cases: [string, RegExp | undefined][] = [
    ['', undefined],
    ['calls/{{ kept.id }}', undefined],
    ['/calls?x={{ data.id }}', undefined],
    ['?x={{ data.id }}', undefined],
    ['{{ kept.upload_url | raw }}', undefined],
    ['https://files.example/{{ kept.id }}', undefined],
    ['https://files.example', undefined],
    ['https://crm.example/{{ kept.id }}', undefined],
    ['https://{{ kept.host }}/x', /has a tag before/],
    ['https://files{{ kept.host }}.example/x', /has a tag before/],
    ['https://files.example{{ kept.rest }}', /has a tag before/],
    ['https://files.example:{% if true %}8443{% endif %}/', /has a tag before/],
    ['https://{{ kept.user }}@files.example/', /has a tag before/],
    ['https:{{ kept.rest }}', /has a tag before/],
    ['https://other.example/', /origin of the webhook/],
    ['https://me:key@files.example/', /user and password/],
    ['//files.example/x', /begins with/],
    ['ftp://files.example/', /http: or https:/],
    ['mailto:x@files.example', /http: or https:/],
  ]
  test.each(cases)('%j', (template, problem) => {
    const found = urlTemplateProblem(template, 'https://crm.example/rest', ORIGINS)
    if (problem === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(problem)
  })
})

test('the log has a URL without query, user and fragment', () => {
  expect(urlForLog('https://me:key@crm.example:8443/a/b?token=1#x')).toBe('https://crm.example:8443/a/b')
})
