import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { findLackingKey } from '../../../src/events/filter.ts'
import { FURTHER_NAMES } from '../../../src/events/kinds.ts'
import { EXAMPLES } from '../../../src/events/samples.ts'
import { optionsRoutes } from '../../../src/webhooks/options/routes.ts'
import { createOptionsService } from '../../../src/webhooks/options/service.ts'
import { SILENT_AUDIT, startApi } from '../../help/api.ts'
import { emptyFolder } from '../../help/app.ts'
import { certify, newAuthority } from '../../help/certificate.ts'
import { type Answer, ask, webhook } from '../../help/client.ts'
import { type OpenStore, openStore } from '../../help/store.ts'
import { TEMPLATES } from '../../help/templates.ts'

const [ONE, TWO, SIGNED_IN] = ['https://one.example/', 'https://two.example/', 'https://user:pass@three.example/']
const DEFAULTS = {
  name: null,
  paused: false,
  filter: null,
  headers: {},
  order: 'first_attempt',
  max_per_second: null,
  body: null,
  events: [],
  retain: false,
  discovery: null,
  flow: null,
  authorization: null,
  tls: null,
  share_pace: false,
}
const SAMPLES = new Map(EXAMPLES.map((body) => [body.data.name, JSON.stringify(body)]))

const folder = emptyFolder()
let store: OpenStore
let api: Awaited<ReturnType<typeof startApi>>
let token: string
let others: string
let changed = 0
/** A clock of our own, so that the rate limits hold nothing up. */
let nowUs = 0

const setList = (urls: string[], accountId = 1) =>
  store.webhooks.listReplace({
    accountId,
    list: urls.map((url) => webhook(url)),
    ifMatch: null,
    secrets: urls.map((url) => `whsec_${url}`),
    nowUs: 1,
  })

beforeAll(async () => {
  store = openStore(join(folder.path, 'hookswitch.db'))
  api = await startApi(store, (auth) => {
    const onChanged = () => {
      changed += 1
    }
    const options = createOptionsService({
      webhooks: store.webhooks,
      samples: SAMPLES,
      onChanged,
      templates: TEMPLATES,
      allow: () => [],
    })
    return optionsRoutes({ auth, options, audit: SILENT_AUDIT, warningOf: () => warning, now: () => nowUs })
  })
  token = await api.logIn('default')
  others = await api.logIn('acme')
  await setList([ONE, TWO, ONE, SIGNED_IN])
})
beforeEach(() => {
  nowUs += 60_000_000
})
afterAll(async () => {
  await api.stop()
  await store.stop()
  folder[Symbol.dispose]()
})

const PATH = '/integration/webhook/options'
const put = (options: object, as = token): Promise<Answer> =>
  ask(api, 'PUT', PATH, { token: as, body: { url: ONE, ...options } })
const list = async (as = token) => (await ask(api, 'GET', PATH, { token: as })).body.result
const errorsOf = ({ body }: Answer) =>
  (body.result as { errors: { path: string; message: string }[] }).errors.map(
    ({ path, message }) => `${path} ${message}`,
  )

let warning: string | undefined

describe('options', () => {
  test('are the defaults for each URL of the list, each once, in its order', async () => {
    expect(await list()).toEqual([ONE, TWO, SIGNED_IN].map((url) => ({ url, ...DEFAULTS })))
    expect(await list(others)).toEqual([])
  })

  test('are replaced as a whole, and fields that are left out get their defaults', async () => {
    const all = {
      name: 'CRM of the sales team',
      paused: true,
      filter: { direction: ['inbound'], number: ['+4930*', '+1*'], queue: ['*'] },
      headers: { 'X-Api-Key': 'secret' },
      order: 'strict',
      max_per_second: 2.5,
      body: { template: '{"n":{{ data.name | json }}}', content_type: 'application/json' },
      events: ['call_missed'],
      retain: true,
    }
    const before = changed
    const answer = await put(all)
    const shown = { ...DEFAULTS, ...all, url: ONE, headers: { 'X-Api-Key': null } }
    expect(answer.body).toMatchObject({ status: 'success', code: 200, result: shown })
    expect(answer.body.message).toBe('The options were replaced.')
    expect(changed).toBe(before + 1)
    expect(await list()).toEqual([shown, ...[TWO, SIGNED_IN].map((url) => ({ url, ...DEFAULTS }))])
    expect((await put({})).body.result).toEqual({ url: ONE, ...DEFAULTS })
  })

  test('are replaced with a note on what their owner has to know', async () => {
    warning = 'with retain the broker keeps messages'
    expect((await put({})).body.message).toBe('The options were replaced. Note: with retain the broker keeps messages.')
    warning = undefined
  })

  test('keep the value of a header that is sent as null', async () => {
    await put({ headers: { 'X-Api-Key': 'secret', 'X-Other': 'other' } })
    expect((await put({ headers: { 'x-api-key': null } })).body.result).toMatchObject({
      headers: { 'x-api-key': null },
    })
    const id = (await store.webhooks.webhookGetByUrl(1, ONE))?.options?.headers
    expect(id).toEqual({ 'x-api-key': 'secret' })
    expect(errorsOf(await put({ headers: { 'X-Other': null } }))).toEqual([
      '/headers/X-Other has no stored value that null could keep',
    ])
  })

  test('an empty filter is stored as null', async () => {
    expect((await put({ filter: {} })).body.result).toMatchObject({ filter: null })
  })

  describe('with certificates', () => {
    const authority = newAuthority('An authority')
    const { cert, key } = certify(['anna'], authority)
    const ca = authority.pem

    test('never show the key, and keep it for the certificate that it belongs to', async () => {
      const answer = await put({ tls: { certificate: cert, key, ca } })
      expect(answer.body.result).toMatchObject({ tls: { certificate: cert, key: null, ca } })
      expect(JSON.stringify(await list())).not.toContain(key.split('\n')[1] ?? '-')
      expect((await put({ tls: { certificate: cert, key: null } })).status).toBe(200)
      const stored = (await store.webhooks.webhookGetByUrl(1, ONE))?.options
      expect([stored?.tls, Object.values(stored?.flowSecrets ?? {})]).toEqual([{ certificate: cert, ca: null }, [key]])
      expect(errorsOf(await put({ tls: { certificate: certify(['ben'], authority).cert } }))).toEqual([
        '/tls/key is missing: no key of this certificate is stored',
      ])
      // Without the option, the key is gone.
      expect((await put({ tls: {} })).body.result).toMatchObject({ tls: null })
      expect(errorsOf(await put({ tls: { certificate: cert } }))).toEqual([
        '/tls/key is missing: no key of this certificate is stored',
      ])
    })

    test('may have authorities alone', async () => {
      expect((await put({ tls: { ca } })).body.result).toMatchObject({ tls: { certificate: null, key: null, ca } })
    })

    test('say that a certificate has expired', async () => {
      const old = certify(['anna'], authority, -1)
      await put({ tls: { certificate: old.cert, key: old.key } })
      const [first] = (await list()) as { problem?: { since: string; message: string } }[]
      expect(first?.problem).toEqual({
        since: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        message: 'the client certificate has expired: receivers may refuse the requests; set a new one in tls',
      })
      await put({})
      expect(((await list()) as { problem?: unknown }[])[0]?.problem).toBeUndefined()
    })

    const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n'
    test.each([
      [
        { certificate: 'x', key },
        '/tls/certificate must be a certificate in PEM: -----BEGIN CERTIFICATE-----, then base64',
      ],
      [
        { certificate: key, key },
        '/tls/certificate must be a certificate in PEM: -----BEGIN CERTIFICATE-----, then base64',
      ],
      [
        { certificate: cert, key: cert },
        '/tls/key must be a private key in PEM: -----BEGIN PRIVATE KEY-----, then base64',
      ],
      [
        { certificate: cert, key: encrypted },
        '/tls/key has a passphrase: remove it, as with openssl pkey -in key.pem -out plain.pem',
      ],
      [{ certificate: cert, key: certify(['ben'], authority).key }, '/tls/key is not the key of this certificate'],
      [{ key }, '/tls/certificate is missing: a key belongs to a certificate'],
      [{ ca: 'x' }, '/tls/ca must be a certificate in PEM: -----BEGIN CERTIFICATE-----, then base64'],
      [{ certificate: 7 }, '/tls/certificate must be a string'],
      [{ certificate: cert, key, passphrase: 'x' }, '/tls/passphrase is an unknown field'],
    ])('refuse %#: %s', async (tls, error) => {
      expect(errorsOf(await put({ tls }))).toEqual([error])
    })

    test('refuse a URL without TLS', async () => {
      const errors = errorsOf(await put({ url: 'http://plain.example/', tls: { ca } }))
      expect(errors).toEqual(['/tls needs a URL with https: or mqtts:'])
    })
  })

  describe('with an authorization', () => {
    const oauth2 = {
      kind: 'oauth2',
      token_url: 'https://login.example/token',
      client_id: 'us',
      client_secret: 'hidden',
    }

    test('never show its secret, and keep it for this token URL and client', async () => {
      const shown = { ...oauth2, client_secret: null }
      expect((await put({ authorization: oauth2 })).body.result).toMatchObject({ authorization: shown, flow: null })
      expect(JSON.stringify(await list())).not.toContain('hidden')
      expect((await put({ authorization: { ...shown, scope: 'calls' } })).status).toBe(200)
      expect(Object.values((await store.webhooks.webhookGetByUrl(1, ONE))?.options?.flowSecrets ?? {})).toEqual([
        'hidden',
      ])
      expect(errorsOf(await put({ authorization: { ...shown, token_url: 'https://thief.example/' } }))).toEqual([
        '/authorization/client_secret has no stored value that null could keep',
      ])
      await put({})
    })

    const step = { name: 'one', on: ['call_ended'] }
    test.each([
      [
        { authorization: oauth2, flow: { steps: [step] } },
        '/authorization cannot be combined with `flow`: a flow has its own',
      ],
      [
        { authorization: oauth2, url: SIGNED_IN },
        '/authorization cannot be combined with a user and password in the URL',
      ],
      [{ authorization: oauth2, url: 'mqtt://broker.example/x' }, '/authorization needs a URL with http: or https:'],
      [
        { authorization: oauth2, headers: { Authorization: 'x' } },
        '/authorization cannot be combined with a header `authorization`',
      ],
      [
        { authorization: { kind: 'oauth2', client_id: 'x', client_secret: 'y' } },
        '/authorization/token_url is missing',
      ],
      [
        { authorization: { ...oauth2, token_url: 'login' } },
        '/authorization/token_url must be an absolute http: or https: URL',
      ],
      [{ authorization: { ...oauth2, header: 'x' } }, '/authorization/header does not belong to oauth2'],
      [
        { authorization: { ...oauth2, token_url: 'https://127.0.0.1/token' } },
        /^\/authorization\/token_url 127\.0\.0\.1 is .*--allow-net/,
      ],
    ])('refuse %#: %s', async (options, error) => {
      const errors = errorsOf(await put(options))
      expect(errors).toEqual([typeof error === 'string' ? error : expect.stringMatching(error)])
    })
  })

  const many = (count: number) => Array.from({ length: count }, (_, at) => String(at))
  const headers = (count: number) => Object.fromEntries(many(count).map((at) => [`X-${at}`, 'v']))
  test.each([
    [{ url: 'https://elsewhere.example/' }, '/url is not in the list'],
    [{ url: 7 }, '/url must be a string'],
    [{ surprise: 1 }, '/surprise is an unknown field'],
    [{ name: 'x'.repeat(101) }, '/name may have 100 characters at most'],
    [{ name: '' }, '/name must not be empty'],
    [{ name: 'a\u0000b' }, '/name has a control character: remove it'],
    [{ name: 7 }, '/name must be a string'],
    [{ paused: 'yes' }, '/paused must be true or false'],
    [{ filter: 'inbound' }, '/filter must be an object'],
    [{ filter: { colour: ['red'] } }, '/filter/colour is an unknown field'],
    [{ filter: { direction: 'inbound' } }, '/filter/direction must be an array'],
    [{ filter: { direction: [] } }, '/filter/direction must not be empty'],
    [{ filter: { number: many(101) } }, '/filter/number may have 100 items at most'],
    [{ filter: { number: ['1', 2] } }, '/filter/number/1 must be a string'],
    [{ filter: { number: [''] } }, '/filter/number/0 must not be empty'],
    [{ headers: headers(21) }, '/headers may have 20 entries at most'],
    [{ headers: { 'X-Key': 7 } }, '/headers/X-Key must be a string'],
    [{ headers: { 'X-Key': 'ä' } }, '/headers/X-Key may only have visible ASCII characters and spaces'],
    [{ headers: { 'X-Key': 'a\r\nb: c' } }, '/headers/X-Key may only have visible ASCII characters and spaces'],
    [{ headers: { 'X-Key': 'x'.repeat(4_097) } }, '/headers/X-Key may have 4096 characters at most'],
    [
      { headers: { 'X Key': 'v' } },
      "/headers/X Key must have a name of letters, digits and !#$%&'*+.^_`|~-, 100 at most",
    ],
    [{ headers: { 'a/b': 'v' } }, "/headers/a~1b must have a name of letters, digits and !#$%&'*+.^_`|~-, 100 at most"],
    [
      { headers: { 'X-Key': 'v', 'x-key': 'w' } },
      '/headers/x-key occurs twice: upper and lower case make no difference',
    ],
    [{ discovery: 'homeassistant' }, '/discovery needs a URL with mqtt: or mqtts:'],
    [{ discovery: 'openhab' }, '/discovery must be one of homeassistant'],
    [
      { filter: { direction: ['inbound', 'inbond'] } },
      /^\/filter\/direction\/1 inbond matches no event: use inbound, /,
    ],
    [{ filter: { result: ['bogus*'] } }, /^\/filter\/result\/0 bogus\* matches no event: use /],
    [{ order: 'loose' }, '/order must be one of first_attempt, strict'],
    [{ max_per_second: 0.05 }, '/max_per_second must be 0.1 at least'],
    [{ max_per_second: 1_001 }, '/max_per_second may be 1000 at most'],
    [{ max_per_second: '5' }, '/max_per_second must be a number'],
    [{ events: ['call_started'] }, `/events/0 must be one of ${FURTHER_NAMES.join(', ')}`],
    [{ events: ['call_held', 'call_held'] }, '/events must not contain an item twice'],
    [{ body: 'flat' }, '/body must be an object'],
    [{ body: {} }, '/body must have a preset or a template'],
    [{ body: { preset: 'fax' } }, /^\/body\/preset must be one of flat, form, /],
    [{ body: { preset: 'flat', template: 'x' } }, '/body/template cannot be combined with a preset'],
    [{ body: { preset: 'flat', content_type: 'text/plain' } }, '/body/content_type comes from the preset'],
    [
      { body: { preset: 'telegram' } },
      '/body/parameters/chat_id is missing: The chat to write to: a number, or @ and the name of a channel',
    ],
    [{ body: { preset: 'flat', parameters: { chat_id: '1' } } }, '/body/parameters/chat_id is not a parameter of flat'],
    [{ body: { preset: 'telegram', parameters: { chat_id: 7 } } }, '/body/parameters/chat_id must be a string'],
    [{ body: { template: 'x', parameters: {} } }, '/body/parameters are only allowed with a preset'],
    [{ body: { template: '' } }, '/body/template must not be empty'],
    [{ body: { template: 'x'.repeat(16_385) } }, '/body/template may have 16384 characters at most'],
    [
      { body: { template: 'x', content_type: 'text' } },
      '/body/content_type must be a content type, such as application/json',
    ],
    [{ body: { template: 'a\n{% if %}' } }, /^\/body\/template line 2, column \d+: /],
    [{ body: { template: '{{ data.name | nope }}' } }, '/body/template line 1, column 1: undefined filter: nope'],
    [
      { body: { template: '{"name": "{{ data.none }}",\n "from": {{ data.none }}}' } },
      '/body/template must render to JSON, as its content type says, but does not for call_started: {{ data.none }} in line 2, column 10 is empty where JSON needs a value: add "| json" to it',
    ],
    [
      { body: { template: 'no JSON' } },
      '/body/template must render to JSON, as its content type says, but does not for call_started: Unexpected identifier "no"; {{ … | json }} writes a value with its quotes',
    ],
    [
      { body: { template: '{% if data.name == "call_saved" %}{ {% endif %}' } },
      "/body/template must render to JSON, as its content type says, but does not for call_saved: Expected '}'; {{ … | json }} writes a value with its quotes",
    ],
    [{ body: { template: '{% for i in (1..99999999) %}x{% endfor %}' } }, /needs more memory/],
  ])('%j is refused, and the answer names where it is wrong', async (options, expected) => {
    const before = await list()
    const answer = await put(options)
    expect(answer.status).toBe(422)
    const [error = '', ...more] = errorsOf(answer)
    expect(more).toEqual([])
    if (typeof expected === 'string') expect(error).toBe(expected)
    else expect(error).toMatch(expected)
    expect(await list()).toEqual(before)
  })

  const FORBIDDEN =
    'Host Content-Type content-length Content-Encoding Transfer-Encoding Connection Keep-Alive TE Trailer Upgrade Expect User-Agent ' +
    'Accept-Encoding Proxy-Authorization webhook-id Webhook-Signature traceparent tracestate'
  test.each(FORBIDDEN.split(' '))('the header %s cannot be set', async (name) => {
    expect(errorsOf(await put({ headers: { [name]: 'v' } }))).toEqual([
      `/headers/${name} is a header that cannot be set here`,
    ])
  })

  test('Authorization may be set, unless the URL has a user', async () => {
    expect((await put({ headers: { Authorization: 'Bearer x' } })).status).toBe(200)
    expect(errorsOf(await put({ url: SIGNED_IN, headers: { authorization: 'Bearer x' } }))).toEqual([
      '/headers/authorization comes from the user and password in the URL',
    ])
  })

  test('all faults are reported at once', async () => {
    const answer = await put({ paused: 1, order: 2, headers: { Host: 'x', 'X-A': 3 }, body: { preset: 'telegram' } })
    expect(errorsOf(answer).map((error) => error.split(' ')[0])).toEqual([
      '/paused',
      '/headers/X-A',
      '/order',
      '/headers/Host',
      '/body/parameters/chat_id',
    ])
  })

  test('need a token, and are nobody else’s', async () => {
    expect((await ask(api, 'GET', PATH)).status).toBe(401)
    expect((await ask(api, 'PUT', PATH, { body: { url: ONE } })).status).toBe(401)
    expect(errorsOf(await put({}, others))).toEqual(['/url is not in the list'])
  })

  test('may be replaced 120 times in a minute', async () => {
    for (let times = 0; times < 120; times += 1) await put({})
    expect((await put({})).status).toBe(429)
  })
})

describe('a preview', () => {
  const preview = (body: object) => ask(api, 'POST', '/integration/webhook/preview', { token, body })
  test('shows the default body, a preset and a template', async () => {
    expect((await preview({})).body.result).toEqual({
      content_type: 'application/json',
      body: SAMPLES.get('call_started') ?? '',
      not_sent: null,
    })
    const form = await preview({ event: 'dial_answered', body: { preset: 'form' } })
    expect(form.body.result).toMatchObject({ content_type: 'application/x-www-form-urlencoded' })
    const template = { template: '{{ data.name }}', content_type: 'text/plain; charset=utf-8' }
    expect((await preview({ event: 'call_saved', body: template })).body.result).toEqual({
      content_type: 'text/plain; charset=utf-8',
      body: 'call_saved',
      not_sent: null,
    })
  })

  test('says that a switch, the events or the filter of a webhook keep the event away', async () => {
    nowUs += 60_000_000
    const reason = async (event: string, url = ONE) => {
      const { status, body } = await preview({ event, url })
      return status === 200 ? (body.result as { not_sent: string | null }).not_sent : status
    }
    await put({ events: ['call_held', 'phone_changed'], filter: { direction: ['inbound'], result: ['answered'] } })
    const start = 'this event is not sent to this webhook, because'
    expect(await reason('call_ended')).toBeNull()
    expect(await reason('call_missed')).toBe(`${start} its \`events\` do not name call_missed`)
    expect(await reason('call_held')).toBe(`${start} its filter has \`result\`, which call_held does not have`)
    // Changes of phones, trunks, agents and queues have few facts.
    expect(findLackingKey({ direction: ['inbound'] }, 'phone_changed')).toBe('direction')
    expect(findLackingKey({ pbx: ['one'], queue: ['sales'], extension: ['1*'] }, 'agent_changed')).toBeUndefined()
    const list = [{ ...webhook(ONE), dial_answered: false, call_transferred: false }]
    await store.webhooks.listReplace({ accountId: 1, list, ifMatch: null, secrets: ['whsec_1'], nowUs: 1 })
    expect(await reason('dial_answered')).toBe(`${start} its switch dial_answered is off`)
    expect(await reason('call_blind_transferred')).toBe(`${start} its switch call_transferred is off`)
    expect(await reason('call_ended', 'https://unlisted.example/')).toBe(422)
    await setList([ONE, TWO, ONE, SIGNED_IN])
  })

  test('refuses what options would refuse', async () => {
    expect(errorsOf(await preview({ body: { template: '{{' } }))[0]).toStartWith('/body/template line 1, column 1: ')
    expect(errorsOf(await preview({ event: 'nothing' }))[0]).toStartWith('/event must be one of')
    expect(errorsOf(await preview({ body: { preset: 'telegram' } }))).toEqual([
      '/body/parameters/chat_id is missing: The chat to write to: a number, or @ and the name of a channel',
    ])
  })
})
