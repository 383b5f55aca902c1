import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { IS_OUTSIDE, IS_PHONE, IS_WHOLE, NUMBER, PHONE_USER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { NUMERIC_ID, responsible, secretKey, users, yesNo } from './parameters.ts'

/**
 * amoCRM (Kommo) finds the card of a number by itself. A call is added when its recording has a URL, with the id that
 * Hookswitch gave it: `uniq`, which the documentation calls unique without saying what a repeated one does. amoCRM adds
 * nothing for a number without a card: then the call becomes an incoming lead.
 */
const DOCS = 'https://www.amocrm.ru/developers/content'

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  // amoCRM answers 403 to an address that sent too many requests before.
  { status: [403, 429], then: 'retry' },
]
const CARD_FAILED: Rule = { status: '4xx', then: 'done' }
/** The documentation of amoCRM names no error for a user: whatever it cannot validate is sent without the owner. */
const USER_REFUSED = {
  status: [400],
  pointer: '/validation-errors/0/errors/0/code',
  mark: '/validation-errors/0/errors/0/code',
}
const FINAL: Rule = { status: [400, 402, 404, 422], then: 'fail' }

const HEADERS = { authorization: 'Bearer {{ parameters.token }}' }
const callOf = (user: string): string => `${NUMBER}${user}{%- assign link = data.recordings[0].url -%}`
const STATUS = `{% case data.call.result %}{% when "answered" %}4{% when "voicemail" %}1{% when "busy" %}7{% else %}{% if data.call.hangup.cause == "invalid_number" %}5{% else %}6{% endif %}{% endcase %}`

export const AMOCRM: Preset = {
  name: 'amocrm',
  title: 'amoCRM, Kommo',
  parameters: [
    secretKey('token', 'Long-lived token', 'From a private integration: Settings → Integrations → Keys and accesses'),
    responsible('The id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    yesNo('create', 'Create incoming leads', 'Make an incoming lead of a call whose number has no card', true),
  ],
  steps: [
    {
      name: 'card',
      on: ['dial_started'],
      if: when([IS_PHONE, 'user', 'number', 'data.call.direction == "inbound"'], NUMBER + PHONE_USER),
      url: '/api/v2/events',
      headers: HEADERS,
      body: `${NUMBER}${PHONE_USER}{"add":[{"type":"phone_call","phone_number":{{ number }},"users":["{{ user }}"]}]}`,
      when: [...LIMITS, CARD_FAILED],
      source: `${DOCS}/telephony/call_event`,
      answer: {
        status: 200,
        body: { _embedded: { items: [{ element_id: 45_687, element_type: 1, phone_number: '+79998887766' }] } },
      },
    },
    ...ownedStep({
      name: 'call',
      on: ['call_saved'],
      if: when(['number', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: '/api/v4/calls',
      headers: HEADERS,
      body: (user) =>
        `${callOf(user)}[{"uniq":{{ data.call.id }},"direction":{{ data.call.direction }},"duration":{{ data.call.talk_duration | default: 0 }},"source":"Hookswitch","phone":{{ number }},{% if link %}"link":{{ link }},{% endif %}{% if user %}"responsible_user_id":{{ user | plus: 0 }},"call_responsible":{{ user | plus: 0 }},{% endif %}"call_status":${STATUS},"call_result":{{ data.call.result | replace: "_", " " }},"created_at":{{ data.call.started_at | seconds }},"request_id":"0"}]`,
      keep: { call: '/_embedded/calls/0/id' },
      result: 'call',
      refused: [USER_REFUSED],
      when: [
        ...LIMITS,
        // The number has no card: see the next step. The documentation shows no code; users of amoCRM's SDK report the
        // title and HTTP 400 (amocrm/amocrm-api-php, issue 52).
        { pointer: '/errors/0/status', values: ['263'], then: 'done' },
        { pointer: '/errors/0/title', values: ['Entity not found'], then: 'done' },
        { pointer: '/errors/0', then: 'fail' },
        FINAL,
      ],
      source: `${DOCS}/crm_platform/calls-api`,
      answer: {
        status: 200,
        body: {
          _total_items: 1,
          errors: [],
          _embedded: { calls: [{ id: 1_234_567, entity_id: 45_687, entity_type: 'contact', request_id: '0' }] },
        },
      },
    }),
    ...ownedStep({
      name: 'incoming_lead',
      on: ['call_saved'],
      if: when(
        ['number', 'parameters.create', 'kept.call == nil', IS_WHOLE, 'data.call.direction == "inbound"'],
        NUMBER,
      ),
      url: '/api/v4/leads/unsorted/sip',
      headers: HEADERS,
      body: (user) =>
        `${callOf(user)}${TITLE}[{"request_id":{{ data.call.id }},"source_name":"Hookswitch","source_uid":{{ data.call.id }},"created_at":{{ data.call.started_at | seconds }},"_embedded":{"leads":[{"name":{{ title }}}],"contacts":[{"name":{{ caller }},"custom_fields_values":[{"field_code":"PHONE","values":[{"value":{{ number }}}]}]}]},"metadata":{"is_call_event_needed":true,"uniq":{{ data.call.id }},"duration":{{ data.call.talk_duration | default: 0 }},"service_code":"hookswitch",{% if link %}"link":{{ link }},{% endif %}{% if user %}"call_responsible":{{ user | plus: 0 }},{% endif %}"phone":{{ data.call.did | default: data.call.to.number | default: data.pbx }},"called_at":{{ data.call.started_at | seconds }},"from":{{ number }}}}]`,
      keep: { incoming_lead: '/_embedded/unsorted/0/uid' },
      result: 'incoming_lead',
      refused: [USER_REFUSED],
      when: [...LIMITS, FINAL],
      source: `${DOCS}/crm_platform/unsorted-api`,
      answer: { status: 200, body: { _total_items: 1, _embedded: { unsorted: [{ uid: '1a2b3c', request_id: '0' }] } } },
    }),
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: 7,
  events: ['dial_started', 'call_saved'],
  sources: [
    `${DOCS}/telephony/call_event`,
    `${DOCS}/crm_platform/calls-api`,
    `${DOCS}/crm_platform/unsorted-api`,
    `${DOCS}/api/recommendations`,
  ],
  lookup: {
    method: 'GET',
    url: '/api/v4/contacts?limit=1&query={{ number }}',
    headers: HEADERS,
    item: '/_embedded/contacts/0',
    fields: { id: '/id', name: '/name' },
    page: '{origin}/contacts/detail/{/id}',
    user: '/responsible_user_id',
    spellings: ['e164', 'digits', 'last_10'],
    source: `${DOCS}/crm_platform/contacts-api`,
    answer: {
      status: 200,
      body: { _embedded: { contacts: [{ id: 45_687, name: 'Maria Bern', responsible_user_id: 504_141 }] } },
    },
  },
  directory: {
    method: 'GET',
    url: '/api/v4/users?limit=250',
    headers: HEADERS,
    items: '/_embedded/users',
    id: '/id',
    name: ['/name'],
    logins: ['/email'],
    source: `${DOCS}/crm_platform/users-api`,
    answer: {
      status: 200,
      body: { _embedded: { users: [{ id: 504_141, name: 'Anna Smith', email: 'anna@example.com' }] } },
    },
  },
  check: {
    method: 'GET',
    url: '/api/v4/account',
    headers: HEADERS,
    source: `${DOCS}/crm_platform/account-info`,
    answer: { status: 200, body: { id: 1_231_414, name: 'Example', subdomain: 'example', current_user_id: 504_141 } },
  },
}
