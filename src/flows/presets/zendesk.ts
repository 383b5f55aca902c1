import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { FACTS, IS_OUTSIDE, IS_PHONE, IS_WHOLE, NUMBER, PHONE_USER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { NUMERIC_ID, optionalKey, responsible, users, yesNo } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'
import { eachTwin, FIRST_TWIN, keptTwins } from './twins.ts'

/**
 * Zendesk: the caller's profile opens on the agent's screen while the phone rings; after the call a ticket with a voice
 * comment, which has the recording. Users and tickets have Hookswitch's id of the call as their external id, by which a
 * step looks for them before they are created: Zendesk documents an idempotency key for tickets, but not for voice
 * tickets, and finds a new user by the number only after a while.
 */
const DOCS = 'https://developer.zendesk.com/api-reference'
const VOICE = `${DOCS}/voice/talk-partner-edition-api/reference/`
const TICKETS = `${DOCS}/ticketing/tickets/tickets/`
const USERS_API = `${DOCS}/ticketing/users/users/`

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [409, 429], then: 'retry' },
]
/** An assignee who is suspended, deleted or no longer an agent. */
const USER_REFUSED = { status: [422], pointer: '/error', values: ['RecordInvalid'], mark: '/error' }
const FINAL: Rule = { status: [400, 403, 404, 422], then: 'fail' }
const CARD_FAILED: Rule = { status: [400, 403, 404, 422], then: 'done' }
/** With an OAuth client, its token replaces this header. */
const HEADERS = {
  authorization: 'Basic {{ parameters.email | append: "/token:" | append: parameters.token | base64_encode }}',
}

/** The external id of the user that a call has created. */
const EXTERNAL_ID = 'hookswitch:{{ data.call.id }}'

const IS_TICKET = `${NUMBER}{%- if number and ${IS_OUTSIDE} and ${IS_WHOLE} -%}{%- if parameters.tickets == "missed" -%}{%- if data.call.missed -%}yes{%- endif -%}{%- elsif parameters.tickets == "inbound" -%}{%- if data.call.direction == "inbound" -%}yes{%- endif -%}{%- else -%}yes{%- endif -%}{%- endif -%}`
const IS_PLAIN = 'data.call.missed and data.recordings.size == 0'
const BEGAN = `{%- capture began %}
Began: {{ data.call.started_at | local_time: "UTC", "%Y-%m-%d %H:%M:%S" }} UTC{% endcapture -%}`
const IS_NEW_TICKET = `{%- if kept.ticket == nil -%}${IS_TICKET}{%- endif -%}`

/** A caller over the internet can send any text as his number: one with quotes would be another search. */
const WITHOUT_QUOTES = `remove: '"' | remove: '\\\\' | default: 'unknown'`

export const ZENDESK: Preset = {
  name: 'zendesk',
  title: 'Zendesk',
  parameters: [
    {
      name: 'client_id',
      title: 'Identifier of the OAuth client',
      help: 'Admin Center → Apps and integrations → APIs → OAuth clients: a confidential client with the scopes read and write',
      type: 'text',
      required: false,
      default: null,
    },
    optionalKey('client_secret', 'Secret of the OAuth client', 'Shown once, when the client is saved'),
    {
      name: 'email',
      title: 'E-mail address',
      help: 'For an API token in place of an OAuth client: the agent to whom it belongs',
      type: 'text',
      required: false,
      default: null,
    },
    optionalKey('token', 'API token', 'All API tokens end on 30 April 2027: use an OAuth client if you have none'),
    responsible('The id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    yesNo(
      'create',
      'Create users',
      'Create an end user when a caller is not found: else the agent of the token is the requester',
      true,
    ),
    {
      name: 'tickets',
      title: 'Tickets',
      help: 'Which calls become tickets',
      type: 'choice',
      required: false,
      default: 'all',
      choices: [
        { value: 'all', title: 'All calls' },
        { value: 'inbound', title: 'Inbound calls' },
        { value: 'missed', title: 'Missed calls' },
      ],
    },
  ],
  oneOf: [
    ['client_id', 'client_secret'],
    ['email', 'token'],
  ],
  steps: [
    {
      name: 'caller',
      on: ['call_started', 'call_ended'],
      if: when(['number', 'kept.caller == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      method: 'GET',
      url: `${NUMBER}/api/v2/users/search.json?per_page=1&query=phone%3A%22{{ number | ${WITHOUT_QUOTES} }}%22`,
      headers: HEADERS,
      keep: { caller: '/users/0/id', contact_name: '/users/0/name' },
      when: [...LIMITS, FINAL],
      source: `${USERS_API}#search-users`,
      answer: { status: 200, body: { users: [{ id: 35_436, name: 'Maria Bern', phone: '+4930123456' }], count: 1 } },
    },
    {
      name: 'own_caller',
      on: ['call_started', 'call_ended'],
      if: when(['number', 'kept.caller == nil', 'parameters.create', IS_OUTSIDE, IS_WHOLE], NUMBER),
      method: 'GET',
      url: `/api/v2/users/show_many.json?external_ids=${EXTERNAL_ID}`,
      headers: HEADERS,
      keep: { caller: '/users/0/id' },
      when: [...LIMITS, CARD_FAILED],
      source: `${USERS_API}#show-many-users`,
      answer: { status: 200, body: { users: [], count: 0 } },
    },
    {
      name: 'new_caller',
      inTurn: { value: 'caller' },
      again: 'own_caller',
      on: ['call_started', 'call_ended'],
      if: when(['number', 'kept.caller == nil', 'parameters.create', IS_OUTSIDE, IS_WHOLE], NUMBER),
      // Not `create_or_update`, which would write over the user that a person has changed.
      url: '/api/v2/users.json',
      headers: HEADERS,
      body: `${NUMBER}{"user":{"name":{{ caller }},"phone":{{ number }},"role":"end-user","external_id":"${EXTERNAL_ID}"}}`,
      keep: { caller: '/user/id' },
      when: [...LIMITS, CONTACT_REFUSED, CONTACT_FORBIDDEN],
      source: `${USERS_API}#create-user`,
      answer: { status: 201, body: { user: { id: 35_436, name: '+4930123456' } } },
    },
    {
      name: 'card',
      on: ['dial_started'],
      if: when([IS_PHONE, 'user', 'data.call.direction == "inbound"'], PHONE_USER),
      needs: ['caller'],
      url: `${PHONE_USER}/api/v2/channels/voice/agents/{{ user }}/users/{{ kept.caller }}/display.json`,
      headers: HEADERS,
      when: [...LIMITS, CARD_FAILED],
      source: VOICE,
      answer: { status: 200, body: null },
    },
    {
      name: 'find_ticket',
      on: ['call_saved'],
      if: IS_NEW_TICKET,
      method: 'GET',
      url: '/api/v2/tickets.json?per_page=5&external_id={{ data.call.id }}',
      headers: HEADERS,
      keep: keptTwins('ticket', '/tickets', '/id'),
      when: [...LIMITS, CARD_FAILED],
      source: `${TICKETS}#list-tickets`,
      answer: { status: 200, body: { tickets: [], count: 0 } },
    },
    ...ownedStep({
      name: 'ticket',
      on: ['call_saved'],
      again: 'find_ticket',
      if: IS_NEW_TICKET,
      // The second ticket names no agent but the responsible user: `owner` is not assigned there.
      // A voice comment without a recording says "Recording not available", so a missed call is a plain ticket.
      url: `{% if ${IS_PLAIN} %}/api/v2/tickets.json{% else %}/api/v2/channels/voice/tickets.json{% endif %}`,
      headers: { ...HEADERS, 'idempotency-key': '{{ data.call.id }}' },
      body: (
        user,
      ) => `${NUMBER}${user}${TITLE}${FACTS}{%- assign link = data.recordings[0].url -%}${BEGAN}{%- if owner -%}{%- assign answerer = data.call.answered_by.extension | map: parameters.users -%}{%- endif -%}
{"ticket":{ {% unless ${IS_PLAIN} %}"via_id":{% if data.call.result == "voicemail" %}44{% elsif data.call.direction == "outbound" %}46{% else %}45{% endif %},"description":{{ facts }},{% endunless %}"subject":{{ title }},"external_id":{{ data.call.id }},{% if kept.caller %}"requester_id":{{ kept.caller }},{% endif %}{% if user %}"assignee_id":{{ user | plus: 0 }},{% endif %}{% if ${IS_PLAIN} %}"comment":{"public":false,"body":{{ facts | append: began }}}{% else %}"voice_comment":{"from":"{{ data.call.from.e164 | default: data.call.from.number }}","to":"{{ data.call.to.e164 | default: data.call.to.number }}","started_at":{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%SZ" }},"call_duration":{{ data.call.talk_duration | default: 0 }},{% if link %}"recording_url":{{ link }},{% endif %}{% if answerer %}"answered_by_id":{{ answerer | plus: 0 }},{% endif %}"transcription_text":{{ facts }}}{% endif %}}}`,
      keep: { ticket: '/ticket/id' },
      result: 'ticket',
      refused: [USER_REFUSED],
      headersAgain: { ...HEADERS, 'idempotency-key': '{{ data.call.id }} for responsible' },
      when: [...LIMITS, FINAL],
      source: VOICE,
      answer: {
        status: 201,
        body: { ticket: { id: 35_437, subject: 'Incoming call from +4930123456', via: { channel: 'api' } } },
      },
    }),
    {
      name: 'delete_twins',
      on: ['call_saved'],
      each: eachTwin,
      needs: [FIRST_TWIN],
      method: 'DELETE',
      url: '/api/v2/tickets/{{ item }}.json',
      headers: HEADERS,
      when: [...LIMITS, CARD_FAILED],
      source: `${TICKETS}#delete-ticket`,
      answer: { status: 204, body: null },
    },
  ],
  origins: [],
  authorization: ({ client_id, client_secret }) =>
    typeof client_id !== 'string' || client_id === ''
      ? null
      : {
          kind: 'login',
          request: {
            url: '/oauth/tokens',
            body: `{"grant_type":"client_credentials","client_id":${jsonText(client_id)},"client_secret":${jsonText(client_secret)},"scope":"read write"}`,
          },
          token: '/access_token',
          expires_in: '/expires_in',
          header: 'Bearer {{ token }}',
        },
  parallel: 4,
  // The smallest plan allows 200 requests per minute.
  maxPerSecond: 3,
  events: ['call_started', 'dial_started', 'call_ended', 'call_saved'],
  sources: [
    VOICE,
    TICKETS,
    USERS_API,
    `${DOCS}/ticketing/introduction/`,
    `${DOCS}/ticketing/oauth/grant_type_tokens/`,
    `${DOCS}/ticketing/account-configuration/usage_limits/`,
  ],
  lookup: {
    method: 'GET',
    url: '/api/v2/users/search.json?per_page=1&query=phone%3A%22{{ number }}%22',
    headers: HEADERS,
    item: '/users/0',
    fields: { id: '/id', name: '/name' },
    page: '{origin}/agent/users/{/id}',
    spellings: ['e164', 'digits', 'national'],
    source: `${USERS_API}#search-users`,
    answer: { status: 200, body: { users: [{ id: 35_436, name: 'Maria Bern' }], count: 1 } },
  },
  directory: {
    method: 'GET',
    url: '/api/v2/users.json?role%5B%5D=agent&role%5B%5D=admin&per_page=100',
    headers: HEADERS,
    items: '/users',
    id: '/id',
    name: ['/name'],
    logins: ['/email'],
    source: `${USERS_API}#list-users`,
    answer: { status: 200, body: { users: [{ id: 7, name: 'Anna Smith', role: 'agent' }] } },
  },
  check: {
    method: 'GET',
    url: '/api/v2/users/me.json',
    headers: HEADERS,
    // Zendesk answers a wrong token as an anonymous user, not with an error.
    when: [
      { pointer: '/user/id', then: 'done' },
      { status: '2xx', then: 'fail' },
    ],
    source: `${USERS_API}#show-self`,
    answer: { status: 200, body: { user: { id: 7, name: 'Anna Smith', role: 'agent' } } },
  },
}

/**
 * The value stands in the template itself: a token counts for the settings that it was obtained with. A brace in a
 * secret must not become Liquid.
 */
const jsonText = (value: unknown): string =>
  JSON.stringify(typeof value === 'string' ? value : '').replaceAll('{', '\\u007b')
