import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, OWNER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { createsContacts, responsible, secretKey, users, yesNo } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'
import { eachTwin, FIRST_TWIN, keptTwins } from './twins.ts'

/**
 * EspoCRM: the contact by number, then a call with its description and recordings. EspoCRM has no field for
 * Hookswitch's id of the call: the description has it, by which a step looks for the call before it is created. If it
 * finds several, which requests without an answer have left, all but the first are deleted.
 */
const DOCS = 'https://docs.espocrm.com/development/api'

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [429], then: 'retry' },
]
/** The key may not assign to the user, who was deleted: the reason is in a header alone. */
const USER_REFUSED = { status: [403] }
const FINAL: Rule = { status: [400, 403, 404, 405], then: 'fail' }
const HEADERS = { 'x-api-key': '{{ parameters.key }}' }
const WHERE = (attribute: string, type: string, value: string): string =>
  `where%5B0%5D%5Btype%5D=${type}&where%5B0%5D%5Battribute%5D=${attribute}&where%5B0%5D%5Bvalue%5D=${value}`
const TIME = 'local_time: "UTC", "%Y-%m-%d %H:%M:%S"'
const LINKS = `{%- capture links -%}{%- for one in data.recordings -%}{%- if one.url %}
Recording: {{ one.url }}{% endif -%}{%- endfor -%}{%- endcapture -%}`
const CALL = [IS_OUTSIDE, IS_WHOLE]
const MISSED = ['parameters.callback', 'data.call.missed', ...CALL]
/** The kept ids of the open tasks of a contact. */
const OPEN = ['open_1', 'open_2', 'open_3', 'open_4', 'open_5']
/** A role without tasks must not cost the call, nor a task that a person has deleted. */
const NO_TASKS: Rule = { status: [400, 403, 404, 405], then: 'done' }
/** A search for the number in two spellings: with the option for international numbers off, texts are as typed. */
const BY_NUMBER = ['{{ number }}', '{{ number | national | default: number }}']
  .map((value, at) => {
    const part = (name: string) => `where%5B0%5D%5Bvalue%5D%5B${at}%5D%5B${name}%5D`
    return `${part('type')}=equals&${part('attribute')}=phoneNumber&${part('value')}=${value}`
  })
  .join('&')
/** The owner has been deactivated: EspoCRM would assign the call all the same. */
const UNLESS_INACTIVE = '{%- if kept.active_users == 0 -%}{%- assign user = parameters.responsible -%}{%- endif -%}'
/** EspoCRM refuses names with these characters (regExpPatterns.json, noBadCharacters). */
const ALLOWED = 'remove: "<" | remove: ">" | remove: "="'

/** What the role of an API user lacks; an administrator, or a version without this table, lacks nothing. */
const LACKING = `{%- assign table = answer.acl.table -%}{%- if table and answer.user.type == "api" -%}{%- capture lacking -%}
{%- assign scopes = "Contact,Call" | split: "," -%}{%- for one in scopes -%}{%- assign scope = table[one] -%}{%- if scope.create != "yes" or scope.read == "no" -%}{{ one }}s (create: yes, read: all), {% endif -%}{%- endfor -%}
{%- assign users = table.User.read -%}{%- if users != "all" and users != "team" -%}Users (read: all), {% endif -%}
{%- if answer.acl.assignmentPermission == "no" -%}Assignment Permission (all), {% endif -%}
{%- endcapture -%}{%- if lacking != "" -%}the role of the API user lacks {{ lacking }}without which EspoCRM refuses its calls: see the guide{%- endif -%}{%- endif -%}`

export const ESPOCRM: Preset = {
  name: 'espocrm',
  title: 'EspoCRM',
  parameters: [
    secretKey('key', 'API key', 'From an API user with a role for contacts and calls: Administration → API Users'),
    responsible('The id', { required: true }),
    users(),
    createsContacts(true),
    yesNo(
      'callback',
      'Tasks for missed calls',
      'A missed call is also a task for its owner, which is completed when the contact was spoken to: the role then needs Tasks',
      true,
    ),
  ],
  steps: [
    {
      name: 'active_owner',
      on: ['call_saved'],
      if: when(['number', 'user', 'kept.call == nil', IS_OUTSIDE, IS_WHOLE], NUMBER + OWNER),
      method: 'GET',
      url: `${OWNER}/api/v1/User?maxSize=1&select=id&${WHERE('isActive', 'isTrue', '')}&where%5B1%5D%5Btype%5D=equals&where%5B1%5D%5Battribute%5D=id&where%5B1%5D%5Bvalue%5D={{ user }}`,
      headers: HEADERS,
      keep: { active_users: '/total' },
      // Without the right to read users the owner is taken to be active.
      when: [...LIMITS, { status: [400, 403, 404, 405], then: 'done' }],
      source: `${DOCS}/crud/#list`,
      answer: { status: 200, body: { total: 1, list: [{ id: '1' }] } },
    },
    {
      ...findContact('call_saved'),
      method: 'GET',
      url: `${NUMBER}/api/v1/Contact?maxSize=1&select=id,name&orderBy=createdAt&order=asc&where%5B0%5D%5Btype%5D=or&${BY_NUMBER}`,
      headers: HEADERS,
      keep: { contact: '/list/0/id', contact_name: '/list/0/name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}/crud/#list`,
      answer: { status: 200, body: { total: 1, list: [{ id: '5564764442a6d024c', name: 'Maria Bern' }] } },
    },
    ...ownedStep({
      ...createContact('call_saved'),
      inTurn: { value: null },
      url: '/api/v1/Contact',
      headers: HEADERS,
      body: (user) =>
        `${NUMBER}${user}${UNLESS_INACTIVE}{"lastName":"{% if outside.name and outside.name != number %}{{ caller | ${ALLOWED} }} {% endif %}{{ number | ${ALLOWED} }}","phoneNumber":{{ number }},"assignedUserId":{{ user }}}`,
      keep: { contact: '/id' },
      // EspoCRM refuses duplicate names: this name has the number, so the existing contact is the one of a repeated
      // request.
      result: 'contact',
      refused: [USER_REFUSED],
      when: [
        ...LIMITS,
        { status: [409], then: 'done', keep: { contact: '/0/id' } },
        CONTACT_REFUSED,
        CONTACT_FORBIDDEN,
      ],
      source: `${DOCS}/crud/#create`,
      answer: { status: 200, body: { id: '5564764442a6d024c', lastName: '+4930123456' } },
    }),
    {
      name: 'find_call',
      on: ['call_saved'],
      if: when(['number', 'kept.call == nil', ...CALL], NUMBER),
      method: 'GET',
      url: `/api/v1/Call?maxSize=5&select=id&orderBy=createdAt&order=asc&${WHERE('description', 'contains', '{{ data.call.id }}')}`,
      headers: HEADERS,
      keep: keptTwins('call', '/list', '/id'),
      when: [...LIMITS, FINAL],
      source: `${DOCS}-search-params/`,
      answer: { status: 200, body: { total: 0, list: [] } },
    },
    ...ownedStep({
      // Not again when its delivery is sent once more.
      name: 'call',
      on: ['call_saved'],
      again: 'find_call',
      if: when(['number', 'kept.call == nil', ...CALL], NUMBER),
      url: '/api/v1/Call',
      headers: { ...HEADERS, 'x-skip-duplicate-check': 'true' },
      body: (user) => `${NUMBER}${user}${UNLESS_INACTIVE}${TITLE}${FACTS}${LINKS}
{"name":{{ title | ${ALLOWED} }},"status":{% if data.call.result == "answered" %}"Held"{% else %}"Not Held"{% endif %},"direction":{{ data.call.direction | capitalize }},"dateStart":{{ data.call.started_at | ${TIME} }},"dateEnd":{{ data.call.ended_at | ${TIME} }},"description":{{ facts | append: links }},"assignedUserId":{{ user }},"usersIds":["{{ user }}"]{% if kept.contact %},"contactsIds":["{{ kept.contact }}"]{% endif %}}`,
      keep: { call: '/id' },
      result: 'call',
      refused: [USER_REFUSED],
      when: [...LIMITS, FINAL],
      source: `${DOCS}/crud/#create`,
      answer: { status: 200, body: { id: '60c8f1a2b3c4d5e6f', name: 'Incoming call from Maria Bern', status: 'Held' } },
    }),
    {
      name: 'delete_twins',
      on: ['call_saved'],
      each: eachTwin,
      needs: [FIRST_TWIN],
      method: 'DELETE',
      url: '/api/v1/Call/{{ item }}',
      headers: HEADERS,
      when: [...LIMITS, { status: [403, 404], then: 'done' }, FINAL],
      source: `${DOCS}/crud/#delete`,
      answer: { status: 200, body: true },
    },
    {
      name: 'find_task',
      on: ['call_saved'],
      if: when([...MISSED, 'kept.task == nil']),
      needs: ['call', 'contact'],
      method: 'GET',
      url: `/api/v1/Task?maxSize=1&select=id&${WHERE('description', 'contains', '{{ data.call.id }}')}`,
      headers: HEADERS,
      keep: { task: '/list/0/id' },
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}-search-params/`,
      answer: { status: 200, body: { total: 0, list: [] } },
    },
    ...ownedStep({
      name: 'task',
      on: ['call_saved'],
      again: 'find_task',
      if: when([...MISSED, 'kept.task == nil']),
      needs: ['call', 'contact'],
      url: '/api/v1/Task',
      headers: { ...HEADERS, 'x-skip-duplicate-check': 'true' },
      body: (user) =>
        `${NUMBER}${user}${UNLESS_INACTIVE}${TITLE}${FACTS}{"name":{{ title | ${ALLOWED} }},"status":"Not Started","description":{{ facts }},"assignedUserId":{{ user }},"parentType":"Contact","parentId":{{ kept.contact }}}`,
      keep: { task: '/id' },
      result: 'task',
      refused: [USER_REFUSED],
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}/crud/#create`,
      answer: { status: 200, body: { id: '61d9a2b3c4d5e6f70', name: 'Missed call from Maria Bern' } },
    }),
    {
      name: 'open_tasks',
      on: ['call_saved'],
      if: when(['parameters.callback', 'data.call.result == "answered"', ...CALL]),
      needs: ['contact'],
      method: 'GET',
      url: `/api/v1/Task?maxSize=${OPEN.length}&select=id&${WHERE('parentId', 'equals', '{{ kept.contact }}')}&where%5B1%5D%5Btype%5D=in&where%5B1%5D%5Battribute%5D=status&where%5B1%5D%5Bvalue%5D%5B%5D=Not%20Started&where%5B1%5D%5Bvalue%5D%5B%5D=Started&where%5B2%5D%5Btype%5D=startsWith&where%5B2%5D%5Battribute%5D=name&where%5B2%5D%5Bvalue%5D=Missed%20call&where%5B3%5D%5Btype%5D=contains&where%5B3%5D%5Battribute%5D=description&where%5B3%5D%5Bvalue%5D=Call%3A%20`,
      headers: HEADERS,
      keep: Object.fromEntries(OPEN.map((name, at) => [name, `/list/${at}/id`])),
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}-search-params/`,
      answer: { status: 200, body: { total: 1, list: [{ id: '61d9a2b3c4d5e6f70' }] } },
    },
    {
      name: 'called_back',
      on: ['call_saved'],
      needs: ['open_1'],
      each: `{{ ""${OPEN.map((name) => ` | append: kept.${name} | append: ","`).join('')} | split: "," | json }}`,
      method: 'PUT',
      url: '/api/v1/Task/{{ item }}',
      headers: HEADERS,
      body: '{"status":"Completed"}',
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}/crud/#update`,
      answer: { status: 200, body: { id: '61d9a2b3c4d5e6f70', status: 'Completed' } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: null,
  events: ['call_saved'],
  tried: 'EspoCRM 9.3.9',
  sources: [`${DOCS}/crud/`, `${DOCS}-search-params/`, `${DOCS}/`],
  lookup: {
    method: 'GET',
    url: `/api/v1/Contact?maxSize=1&select=id,name,accountName,assignedUserId&${WHERE('phoneNumber', 'equals', '{{ number }}')}`,
    headers: HEADERS,
    item: '/list/0',
    fields: { id: '/id', name: '/name', company: '/accountName' },
    page: '{origin}/#Contact/view/{/id}',
    user: '/assignedUserId',
    spellings: ['e164', 'digits', 'national'],
    source: `${DOCS}/crud/#list`,
    answer: {
      status: 200,
      body: {
        total: 1,
        list: [{ id: '5564764442a6d024c', name: 'Maria Bern', accountName: 'Bern & Co', assignedUserId: '1' }],
      },
    },
  },
  directory: {
    method: 'GET',
    url: `/api/v1/User?maxSize=200&select=id,name,userName&orderBy=name&${WHERE('isActive', 'isTrue', '')}`,
    headers: HEADERS,
    items: '/list',
    id: '/id',
    name: ['/name'],
    logins: ['/userName'],
    source: `${DOCS}/crud/#list`,
    answer: { status: 200, body: { total: 1, list: [{ id: '1', name: 'Anna Smith', userName: 'anna' }] } },
  },
  check: {
    method: 'GET',
    url: '/api/v1/App/user',
    headers: HEADERS,
    source: `${DOCS}/account/`,
    answer: { status: 200, body: { user: { id: '2', userName: 'hookswitch', type: 'api' } } },
  },
  rights: {
    method: 'GET',
    url: '/api/v1/App/user',
    headers: HEADERS,
    explanation: LACKING,
    source: `${DOCS}/account/`,
    answer: { status: 200, body: { acl: { table: {}, assignmentPermission: 'all' } } },
  },
}
