import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { createsContacts, NUMERIC_ID, responsible, secretKey, users } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'

/**
 * Zoho CRM: the contact by number, then a record of the module Calls with the URLs of its recordings. Tokens last an
 * hour, and come from a refresh token that does not change. Calls have no field for Hookswitch's id: the
 * description has it, by which steps look for the record before it is created.
 */
const DOCS = 'https://www.zoho.com/crm/developer/docs/api/v8'
const CALLS = 'https://help.zoho.com/portal/en/community/topic/kaizen-38-calls-api'

const LIMITS: readonly Rule[] = [
  { pointer: '/code', values: ['INVALID_TOKEN', 'AUTHENTICATION_FAILURE'], then: 'renew' },
  { status: [401], then: 'renew' },
  { pointer: '/code', values: ['TOO_MANY_REQUESTS', 'INTERNAL_ERROR'], then: 'retry' },
  { status: [429], then: 'retry' },
]
/** A missing scope is a 401 as well: a new token would not have it. The call waits until there is one that has. */
const LIMITS_OF_QUERY: readonly Rule[] = [
  { pointer: '/code', values: ['OAUTH_SCOPE_MISMATCH'], then: 'retry' },
  ...LIMITS,
]
/** The owner is no active user. */
const USER_REFUSED = { pointer: '/data/0/code', values: ['INVALID_DATA'], mark: '/data/0/code' }
const FINAL: Rule = { status: [400, 403, 404, 405], then: 'fail' }
/** The answer has the error of each record, whatever its status. */
const REFUSED: Rule = { pointer: '/data/0/status', values: ['error'], then: 'fail' }
const CALL = [IS_OUTSIDE, IS_WHOLE]
/** The names of kept ids: the first records of the contact with this start, as another call may have one too. */
const SIMULTANEOUS = ['same_start_1', 'same_start_2', 'same_start_3', 'same_start_4', 'same_start_5']
const IS_FOUND = 'kept.description contains data.call.id'
const FOUND = {
  status: 200,
  body: {
    data: [
      {
        id: '554023000000527002',
        Full_Name: 'Maria Bern',
        Account_Name: { name: 'Bern & Co' },
        Owner: { id: '554023000000235011' },
      },
    ],
  },
}
const REGIONS = ['com', 'eu', 'in', 'com.au', 'jp', 'com.cn', 'sa', 'uk', 'ca'] as const
const accountsOf = (region: string): string =>
  region === 'ca' ? 'https://accounts.zohocloud.ca' : `https://accounts.zoho.${region}`

const crmOf = (region: string): string => (region === 'ca' ? 'https://crm.zohocloud.ca' : `https://crm.zoho.${region}`)

const LINKS = `{%- capture links -%}{%- for one in data.recordings -%}{%- if one.url %}
Recording: {{ one.url }}{% endif -%}{%- endfor -%}{%- endcapture -%}`
/** `Call_Duration` is `mm:ss`: https://www.zoho.com/bigin/developer/docs/apis/calls-response.html. */
const DURATION = `{%- assign talk = data.call.talk_duration | default: 0 -%}{%- assign seconds = talk | modulo: 60 -%}{%- assign minutes = talk | divided_by: 60 | floor -%}{%- capture duration -%}{% if minutes < 10 %}0{% endif %}{{ minutes }}:{% if seconds < 10 %}0{% endif %}{{ seconds }}{%- endcapture -%}`

const IS_NEW = when(['number', 'kept.call == nil', ...CALL], NUMBER)

export const ZOHO: Preset = {
  name: 'zoho',
  title: 'Zoho CRM',
  parameters: [
    {
      name: 'region',
      title: 'Data centre',
      help: 'The end of the URL at which you use Zoho',
      type: 'choice',
      required: false,
      default: 'com',
      choices: REGIONS.map((value) => ({ value, title: value === 'ca' ? 'zohocloud.ca' : `zoho.${value}` })),
    },
    {
      name: 'client_id',
      title: 'Client ID',
      help: 'From a self client: API Console → Self Client',
      type: 'text',
      required: true,
      default: null,
    },
    secretKey('client_secret', 'Client secret', 'From the same self client'),
    secretKey(
      'refresh_token',
      'Refresh token',
      'Obtained with a code that has the scopes ZohoCRM.modules.ALL, ZohoCRM.users.READ, ZohoCRM.coql.READ, ZohoCRM.settings.fields.READ and ZohoSearch.securesearch.READ: the guide has the command',
    ),
    responsible('The id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    createsContacts(true),
  ],
  steps: [
    {
      ...findContact('call_saved'),
      method: 'GET',
      url: `${NUMBER}/crm/v8/Contacts/search?fields=Full_Name,Account_Name&phone={{ number }}`,
      keep: { contact: '/data/0/id', contact_name: '/data/0/Full_Name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}/search-records.html`,
      answer: FOUND,
    },
    ...ownedStep({
      ...createContact('call_saved'),
      url: '/crm/v8/Contacts',
      body: (user) =>
        `${NUMBER}${user}{"data":[{"Last_Name":{{ caller }},"Phone":{{ number }}{% if user %},"Owner":{"id":{{ user }}}{% endif %}}]}`,
      keep: { contact: '/data/0/details/id' },
      result: 'contact',
      refused: [USER_REFUSED],
      when: [
        ...LIMITS,
        { pointer: '/data/0/status', values: ['error'], then: 'done' },
        CONTACT_REFUSED,
        CONTACT_FORBIDDEN,
      ],
      source: `${DOCS}/insert-records.html`,
      answer: {
        status: 201,
        body: { data: [{ code: 'SUCCESS', status: 'success', details: { id: '554023000000527002' } }] },
      },
    }),
    {
      name: 'same_start',
      on: ['call_saved'],
      if: IS_NEW,
      needs: ['contact'],
      url: '/crm/v8/coql',
      body: `{"select_query":"select id from Calls where (Who_Id = '{{ kept.contact }}' and Call_Start_Time = '{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%S%:z" }}') order by id asc limit ${SIMULTANEOUS.length}"}`,
      keep: Object.fromEntries(SIMULTANEOUS.map((name, at) => [name, `/data/${at}/id`])),
      when: [...LIMITS_OF_QUERY, FINAL],
      source: `${DOCS}/Get-Records-through-COQL-Query.html`,
      answer: { status: 204, body: null },
    },
    {
      // The description has the id of the call, and COQL has no condition for it: read until a record of this call.
      name: 'find_call',
      on: ['call_saved'],
      if: `{%- unless ${IS_FOUND} -%}${IS_NEW}{%- endunless -%}`,
      each: `{{ ""${SIMULTANEOUS.map((name) => ` | append: kept.${name} | append: ","`).join('')} | split: "," | json }}`,
      needs: ['same_start_1'],
      method: 'GET',
      url: '/crm/v8/Calls/{{ item }}?fields=Description',
      keep: { description: '/data/0/Description' },
      when: [...LIMITS_OF_QUERY, { status: '4xx', then: 'done' }],
      source: `${DOCS}/get-records.html`,
      answer: { status: 200, body: { data: [{ id: '554023000000527110', Description: 'Number: +4930123456' }] } },
    },
    ...ownedStep({
      // Skipped when the delivery is sent again.
      name: 'call',
      on: ['call_saved'],
      again: 'same_start',
      if: `{%- unless ${IS_FOUND} -%}${IS_NEW}{%- endunless -%}`,
      url: '/crm/v8/Calls',
      body: (user) => `${NUMBER}${user}${TITLE}${FACTS}${LINKS}${DURATION}
{"data":[{"Subject":{{ title }},"Call_Type":{% if data.call.missed %}"Missed"{% else %}{{ data.call.direction | capitalize }}{% endif %},"Call_Start_Time":{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%S%:z" }},{% unless data.call.missed %}"Call_Duration":{{ duration }},{% endunless %}{% if data.call.direction == "outbound" %}"Outgoing_Call_Status":"Completed",{% endif %}{% if kept.contact %}"Who_Id":{"id":"{{ kept.contact }}"},{% endif %}{% if user %}"Owner":{"id":{{ user }}},{% endif %}"Description":{{ facts | append: links }}}]}`,
      keep: { call: '/data/0/details/id' },
      result: 'call',
      refused: [USER_REFUSED],
      when: [...LIMITS, REFUSED, FINAL],
      source: CALLS,
      answer: {
        status: 201,
        body: { data: [{ code: 'SUCCESS', status: 'success', details: { id: '554023000000527111' } }] },
      },
    }),
  ],
  origins: REGIONS.map(accountsOf),
  authorization: ({ region, client_id, client_secret, refresh_token }) => ({
    kind: 'login',
    request: {
      url: `${accountsOf(REGIONS.find((one) => one === region) ?? 'com')}/oauth/v2/token`,
      content_type: 'application/x-www-form-urlencoded',
      body: `grant_type=refresh_token&client_id=${formValue(client_id)}&client_secret=${formValue(client_secret)}&refresh_token=${formValue(refresh_token)}`,
    },
    token: '/access_token',
    expires_in: '/expires_in',
    header: 'Zoho-oauthtoken {{ token }}',
  }),
  parallel: 4,
  maxPerSecond: null,
  events: ['call_saved'],
  sources: [
    `${DOCS}/insert-records.html`,
    CALLS,
    `${DOCS}/search-records.html`,
    `${DOCS}/refresh.html`,
    `${DOCS}/api-limits.html`,
  ],
  lookup: {
    method: 'GET',
    url: '/crm/v8/Contacts/search?fields=Full_Name,Account_Name,Owner&phone={{ number }}',
    item: '/data/0',
    fault: '/code',
    fields: { id: '/id', name: '/Full_Name', company: '/Account_Name/name' },
    page: ({ region }) => `${crmOf(typeof region === 'string' ? region : 'com')}/crm/tab/Contacts/{/id}`,
    user: '/Owner/id',
    spellings: ['e164', 'digits', 'national'],
    source: `${DOCS}/search-records.html`,
    answer: FOUND,
  },
  directory: {
    method: 'GET',
    url: '/crm/v8/users?type=ActiveUsers',
    items: '/users',
    id: '/id',
    name: ['/full_name'],
    logins: ['/email'],
    source: `${DOCS}/get-users.html`,
    answer: {
      status: 200,
      body: { users: [{ id: '554023000000235011', full_name: 'Anna Smith', email: 'anna@example.com' }] },
    },
  },
  check: {
    method: 'GET',
    url: '/crm/v8/users?type=CurrentUser',
    source: `${DOCS}/get-users.html`,
    answer: { status: 200, body: { users: [{ id: '554023000000235011', full_name: 'Anna Smith' }] } },
  },
}

/** The value stands in a template: braces in a secret must not become Liquid. */
function formValue(value: unknown): string {
  return typeof value === 'string' ? encodeURIComponent(value) : ''
}
