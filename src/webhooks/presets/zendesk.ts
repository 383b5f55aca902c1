import type { Rule } from '../flows/model.ts'
import type { Preset } from '../flows/preset.ts'
import { FACTS, IS_OUTSIDE, IS_PHONE, IS_WHOLE, NUMBER, PHONE_USER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { NUMERIC_ID, responsible, secretKey, users, yesNo } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'

/**
 * Zendesk: the caller's profile opens on the agent's screen while the phone rings; after the call a ticket with a voice
 * comment, which has the recording. A repeated ticket is recognized by its idempotency key, Hookswitch's id of the
 * call. Zendesk documents the key for tickets, but not for voice tickets: a second one with the same external id, left
 * by a kill between request and answer, is deleted.
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
const HEADERS = {
  authorization: 'Basic {{ parameters.email | append: "/token:" | append: parameters.token | base64_encode }}',
}

const IS_TICKET = `${NUMBER}{%- if number and ${IS_OUTSIDE} and ${IS_WHOLE} -%}{%- if parameters.tickets == "missed" -%}{%- if data.call.missed -%}yes{%- endif -%}{%- elsif parameters.tickets == "inbound" -%}{%- if data.call.direction == "inbound" -%}yes{%- endif -%}{%- else -%}yes{%- endif -%}{%- endif -%}`

export const ZENDESK: Preset = {
  name: 'zendesk',
  title: 'Zendesk',
  parameters: [
    {
      name: 'email',
      title: 'E-mail address',
      help: 'The agent to whom the API token belongs',
      type: 'text',
      required: true,
      default: null,
    },
    secretKey('token', 'API token', 'Admin Center → Apps and integrations → APIs → API tokens'),
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
  steps: [
    {
      name: 'caller',
      on: ['call_started', 'call_ended'],
      if: when(['number', 'kept.caller == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      method: 'GET',
      url: `${NUMBER}/api/v2/users/search.json?per_page=1&query=phone%3A%22{{ number }}%22`,
      headers: HEADERS,
      keep: { caller: '/users/0/id' },
      when: [...LIMITS, FINAL],
      source: `${USERS_API}#search-users`,
      answer: { status: 200, body: { users: [{ id: 35_436, name: 'Maria Bern', phone: '+4930123456' }], count: 1 } },
    },
    {
      name: 'new_caller',
      inTurn: { value: 'caller' },
      on: ['call_started', 'call_ended'],
      if: when(['number', 'kept.caller == nil', 'parameters.create', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: '/api/v2/users/create_or_update.json',
      headers: HEADERS,
      // The external id prevents duplicate users when the request is repeated.
      body: `${NUMBER}{"user":{"name":{{ caller }},"phone":{{ number }},"role":"end-user","external_id":"hookswitch:{{ number | digits }}"}}`,
      keep: { caller: '/user/id' },
      when: [...LIMITS, CONTACT_REFUSED, CONTACT_FORBIDDEN],
      source: `${USERS_API}#create-or-update-user`,
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
    ...ownedStep({
      name: 'ticket',
      on: ['call_saved'],
      if: IS_TICKET,
      // The second ticket names no agent but the responsible user: `owner` is not assigned there.
      url: '/api/v2/channels/voice/tickets.json',
      headers: { ...HEADERS, 'idempotency-key': '{{ data.call.id }}' },
      body: (
        user,
      ) => `${NUMBER}${user}${TITLE}${FACTS}{%- assign link = data.recordings[0].url -%}{%- if owner -%}{%- assign answerer = data.call.answered_by.extension | map: parameters.users -%}{%- endif -%}
{"ticket":{"via_id":{% if data.call.result == "voicemail" %}44{% elsif data.call.direction == "outbound" %}46{% else %}45{% endif %},"subject":{{ title }},"description":{{ facts }},"external_id":{{ data.call.id }},{% if kept.caller %}"requester_id":{{ kept.caller }},{% endif %}{% if user %}"assignee_id":{{ user | plus: 0 }},{% endif %}"voice_comment":{"from":"{{ data.call.from.e164 | default: data.call.from.number }}","to":"{{ data.call.to.e164 | default: data.call.to.number }}","started_at":{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%SZ" }},"call_duration":{{ data.call.talk_duration | default: 0 }},{% if link %}"recording_url":{{ link }},{% endif %}{% if answerer %}"answered_by_id":{{ answerer | plus: 0 }},{% endif %}"transcription_text":{{ facts }}}}}`,
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
      name: 'twins',
      on: ['call_saved'],
      if: IS_TICKET,
      needs: ['ticket'],
      method: 'GET',
      url: '/api/v2/tickets.json?per_page=2&external_id={{ data.call.id }}',
      headers: HEADERS,
      keep: { twin: '/tickets/1/id' },
      // The ticket exists: if it cannot be searched, it stays as it is.
      when: [...LIMITS, CARD_FAILED],
      source: `${TICKETS}#list-tickets`,
      answer: { status: 200, body: { tickets: [{ id: 35_437, external_id: '018f0000-0000-7000-8000-000000000000' }] } },
    },
    {
      // Deletes only the ticket that was just created.
      name: 'delete_twin',
      on: ['call_saved'],
      if: '{% if kept.twin == kept.ticket %}yes{% endif %}',
      needs: ['twin', 'ticket'],
      method: 'DELETE',
      url: '/api/v2/tickets/{{ kept.twin }}.json',
      headers: HEADERS,
      when: [...LIMITS, CARD_FAILED],
      source: `${TICKETS}#delete-ticket`,
      answer: { status: 204, body: null },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  // The smallest plan allows 200 requests per minute.
  maxPerSecond: 3,
  events: ['call_started', 'dial_started', 'call_ended', 'call_saved'],
  sources: [
    VOICE,
    TICKETS,
    USERS_API,
    `${DOCS}/ticketing/introduction/`,
    `${DOCS}/ticketing/account-configuration/usage_limits/`,
  ],
  lookup: {
    method: 'GET',
    url: '/api/v2/users/search.json?per_page=1&query=phone%3A%22{{ number }}%22',
    headers: HEADERS,
    item: '/users/0',
    fields: { id: '/id', name: '/name' },
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
