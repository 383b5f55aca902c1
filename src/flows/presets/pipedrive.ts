import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { NUMERIC_ID, responsible, secretKey, users, yesNo } from './parameters.ts'
import { CONTACT_REFUSED } from './rules.ts'

/**
 * Pipedrive: the person by number, then a call log, to which the recording is uploaded. A call log has no field for
 * Hookswitch's id of the call, and a plain API token has no cards.
 */
const DOCS = 'https://developers.pipedrive.com/docs/api/v1'

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [429], then: 'retry' },
  // A 403 without an API error comes from its firewall, after too many requests.
  { status: [403], then: 'retry' },
]
/** Pipedrive documents no error for an unknown user, and 403 for one whom the token may not make an owner. */
const USER_REFUSED = { status: [400, 403, 404, 422], pointer: '/error', mark: '/error' }
const FINAL: Rule = { status: [400, 402, 404, 409, 410, 422], then: 'fail' }
/** Pipedrive takes the token in this header for each version of its API. */
const HEADERS = { 'x-api-token': '{{ parameters.token }}' }
const OUTCOME = `{%- case data.call.result -%}{%- when "answered" -%}connected{%- when "busy" -%}busy{%- when "voicemail" -%}left_voicemail{%- else -%}{%- if data.call.hangup.cause == "invalid_number" -%}wrong_number{%- else -%}no_answer{%- endif -%}{%- endcase -%}`
const TIME = 'local_time: "UTC", "%Y-%m-%d %H:%M:%S"'

const FOUND = {
  status: 200,
  body: {
    success: true,
    data: { items: [{ item: { id: 15, name: 'Maria Bern', owner: { id: 7 }, organization: { name: 'Bern & Co' } } }] },
  },
}

export const PIPEDRIVE: Preset = {
  name: 'pipedrive',
  title: 'Pipedrive',
  parameters: [
    secretKey(
      'token',
      'API token',
      'From an administrator, so that calls get their owners: Personal preferences → API',
    ),
    responsible('The id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    yesNo('create', 'Create persons', 'Create a person when a caller is not found', true),
  ],
  steps: [
    {
      name: 'person',
      on: ['call_ended'],
      if: when(['number', 'kept.person == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      method: 'GET',
      url: `${NUMBER}/api/v2/persons/search?fields=phone&exact_match=true&limit=1&term={{ number }}`,
      headers: HEADERS,
      keep: { person: '/data/items/0/item/id', contact_name: '/data/items/0/item/name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}/Persons#searchPersons`,
      answer: FOUND,
    },
    ...ownedStep({
      name: 'new_person',
      inTurn: { value: 'person' },
      again: 'person',
      on: ['call_ended'],
      if: when(['number', 'kept.person == nil', 'parameters.create', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: '/api/v2/persons',
      headers: HEADERS,
      body: (user) =>
        `${NUMBER}${user}{"name":{{ caller }},{% if user %}"owner_id":{{ user | plus: 0 }},{% endif %}"phones":[{"value":{{ number }},"primary":true,"label":"work"}]}`,
      keep: { person: '/data/id' },
      result: 'person',
      refused: [USER_REFUSED],
      when: [...LIMITS, CONTACT_REFUSED],
      source: `${DOCS}/Persons#addPerson`,
      answer: { status: 201, body: { success: true, data: { id: 15, name: '+4930123456' } } },
    }),
    ...ownedStep({
      // Not again when its delivery is sent once more.
      name: 'call',
      on: ['call_ended'],
      if: when(['number', 'kept.call == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: '/api/v1/callLogs',
      headers: HEADERS,
      body: (user) => `${NUMBER}${user}${TITLE}${FACTS}{%- capture outcome -%}${OUTCOME}{%- endcapture -%}
{"subject":{{ title }},"outcome":{{ outcome }},"duration":"{{ data.call.talk_duration | default: 0 }}","start_time":{{ data.call.started_at | ${TIME} }},"end_time":{{ data.call.ended_at | ${TIME} }},"from_phone_number":"{{ data.call.from.e164 | default: data.call.from.number }}","to_phone_number":"{{ data.call.to.e164 | default: data.call.to.number | default: data.call.did | default: "unknown" }}",{% if user %}"user_id":{{ user | plus: 0 }},{% endif %}{% if kept.person %}"person_id":{{ kept.person }},{% endif %}"note":{{ facts | escape | newline_to_br }}}`,
      keep: { call: '/data/id' },
      result: 'call',
      refused: [USER_REFUSED],
      when: [...LIMITS, FINAL],
      source: `${DOCS}/CallLogs#addCallLog`,
      answer: {
        status: 200,
        body: { success: true, data: { id: 'CAd92b224eb4a39b5ad8fea92ff0e', activity_id: 15, outcome: 'connected' } },
      },
    }),
    {
      name: 'recording',
      on: ['recording_saved'],
      needs: ['call'],
      url: '/api/v1/callLogs/{{ kept.call }}/recordings',
      headers: HEADERS,
      upload: { field: 'file' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}/CallLogs#addCallLogAudioFile`,
      answer: { status: 200, body: { success: true } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 2,
  // The smallest plan allows 20 requests in 2 seconds.
  maxPerSecond: 10,
  events: ['call_ended', 'recording_saved'],
  sources: [
    `${DOCS}/CallLogs`,
    `${DOCS}/Persons`,
    'https://pipedrive.readme.io/docs/core-api-concepts-authentication',
    'https://pipedrive.readme.io/docs/core-api-concepts-rate-limiting',
  ],
  lookup: {
    method: 'GET',
    url: '/api/v2/persons/search?fields=phone&exact_match=true&limit=1&term={{ number }}',
    headers: HEADERS,
    item: '/data/items/0/item',
    fields: { id: '/id', name: '/name', company: '/organization/name' },
    page: '{origin}/person/{/id}',
    user: '/owner/id',
    spellings: ['e164', 'digits', 'national'],
    source: `${DOCS}/Persons#searchPersons`,
    answer: FOUND,
  },
  directory: {
    method: 'GET',
    url: '/api/v1/users',
    headers: HEADERS,
    items: '/data',
    id: '/id',
    name: ['/name'],
    logins: ['/email'],
    source: `${DOCS}/Users#getUsers`,
    answer: { status: 200, body: { success: true, data: [{ id: 7, name: 'Anna Smith', email: 'anna@example.com' }] } },
  },
  check: {
    method: 'GET',
    url: '/api/v1/users/me',
    headers: HEADERS,
    source: `${DOCS}/Users#getCurrentUser`,
    answer: { status: 200, body: { success: true, data: { id: 7, name: 'Anna Smith' } } },
  },
}
