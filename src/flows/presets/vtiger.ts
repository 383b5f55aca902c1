import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { createsContacts, responsible, secretKey, users } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'
import { eachTwin, FIRST_TWIN, keptTwins } from './twins.ts'

/**
 * Vtiger: the contact by number, then an event of the type Call. A step looks for it by Hookswitch's id of the call in
 * its description before it is created. If it finds several, which requests without an answer have left, all but the
 * first are deleted. The API takes forms that contain JSON.
 */
const DOCS = 'https://help.vtiger.com/article/147111249-Rest-API-Manual'

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [429], then: 'retry' },
]
/** The access key may assign nothing to a user who is inactive or deleted (include/Webservices/Create.php). */
const USER_REFUSED = { pointer: '/error/code', values: ['ACCESS_DENIED', 'REFERENCE_INVALID'], mark: '/error/code' }
const FINAL: Rule = { status: [400, 403, 404], then: 'fail' }
/** Some errors are answered with 200. */
const REFUSED: Rule = { pointer: '/error/code', then: 'fail' }
/** The number of the module of users, and of the user in it. */
const USER_ID = { pattern: /^[1-9]\d{0,8}x[1-9]\d{0,18}$/, sentence: 'must be the id of a user, such as 19x1' }
const HEADERS = {
  authorization: 'Basic {{ parameters.username | append: ":" | append: parameters.key | base64_encode }}',
}
const FORM = 'application/x-www-form-urlencoded'
const CALL = [IS_OUTSIDE, IS_WHOLE]
const at = (time: string, format: string): string => `{{ ${time} | local_time: "UTC", "${format}" | json }}`
const LINKS = `{%- capture links -%}{%- for one in data.recordings -%}{%- if one.url %}
Recording: {{ one.url }}{% endif -%}{%- endfor -%}{%- endcapture -%}`
const LOOKUP_URL =
  'lookup?type=phone&value={{ number }}&searchIn=%7B%22Contacts%22%3A%5B%22mobile%22%2C%22phone%22%5D%7D'
const FOUND = {
  status: 200,
  body: { success: true, result: [{ id: '12x3', firstname: 'Maria', lastname: 'Bern', phone: '+4930123456' }] },
}

export const VTIGER: Preset = {
  name: 'vtiger',
  title: 'Vtiger',
  parameters: [
    {
      name: 'username',
      title: 'User name',
      help: 'The user to whom the access key belongs',
      type: 'text',
      required: true,
      default: null,
    },
    secretKey('key', 'Access key', 'My Preferences → Access Key'),
    responsible('The id (as 19x1)', { required: true, form: USER_ID }),
    users({ form: USER_ID }),
    createsContacts(true),
  ],
  steps: [
    {
      ...findContact('call_saved'),
      method: 'GET',
      url: NUMBER + LOOKUP_URL,
      headers: HEADERS,
      keep: { contact: '/result/0/id', first_name: '/result/0/firstname', last_name: '/result/0/lastname' },
      when: [...LIMITS, REFUSED, FINAL],
      source: DOCS,
      answer: FOUND,
    },
    ...ownedStep({
      ...createContact('call_saved'),
      url: 'create',
      headers: HEADERS,
      content_type: FORM,
      body: (user) =>
        `${NUMBER}${user}{%- capture element -%}{"lastname":{{ caller | json }},"phone":{{ number | json }},"assigned_user_id":{{ user | json }}}{%- endcapture -%}elementType=Contacts&element={{ element }}`,
      keep: { contact: '/result/id' },
      result: 'contact',
      refused: [USER_REFUSED],
      when: [...LIMITS, { pointer: '/error/code', then: 'done' }, CONTACT_REFUSED, CONTACT_FORBIDDEN],
      source: DOCS,
      answer: { status: 200, body: { success: true, result: { id: '12x3', lastname: '+4930123456' } } },
    }),
    {
      name: 'find_call',
      on: ['call_saved'],
      if: when(['number', 'kept.call == nil', ...CALL], NUMBER),
      method: 'GET',
      url: "query?query={% capture query %}select id from Events where description like '%{{ data.call.id }}%' order by id limit 5;{% endcapture %}{{ query }}",
      headers: HEADERS,
      keep: keptTwins('call', '/result', '/id'),
      when: [...LIMITS, REFUSED, FINAL],
      source: DOCS,
      answer: { status: 200, body: { success: true, result: [] } },
    },
    ...ownedStep({
      // Not again when its delivery is sent once more.
      name: 'call',
      on: ['call_saved'],
      again: 'find_call',
      if: when(['number', 'kept.call == nil', ...CALL], NUMBER),
      url: 'create',
      headers: HEADERS,
      content_type: FORM,
      body: (user) =>
        `${NUMBER}${user}${TITLE}${FACTS}${LINKS}{%- capture element -%}{"subject":{{ title | json }},"activitytype":"Call","eventstatus":{% if data.call.result == "answered" %}"Held"{% else %}"Not Held"{% endif %},"date_start":${at('data.call.started_at', '%Y-%m-%d')},"time_start":${at('data.call.started_at', '%H:%M:%S')},"due_date":${at('data.call.ended_at', '%Y-%m-%d')},"time_end":${at('data.call.ended_at', '%H:%M:%S')},"duration_hours":"0","visibility":"Public","description":{{ facts | append: links | json }},"assigned_user_id":{{ user | json }}{% if kept.contact %},"contact_id":{{ kept.contact | json }}{% endif %}}{%- endcapture -%}elementType=Events&element={{ element }}`,
      keep: { call: '/result/id' },
      result: 'call',
      refused: [USER_REFUSED],
      when: [...LIMITS, REFUSED, FINAL],
      source: DOCS,
      answer: {
        status: 200,
        body: { success: true, result: { id: '18x44', subject: 'Incoming call from Maria Bern' } },
      },
    }),
    {
      name: 'delete_twins',
      on: ['call_saved'],
      each: eachTwin,
      needs: [FIRST_TWIN],
      url: 'delete',
      headers: HEADERS,
      content_type: FORM,
      body: 'id={{ item }}',
      when: [...LIMITS, { pointer: '/error/code', values: ['RECORD_NOT_FOUND'], then: 'done' }, REFUSED, FINAL],
      source: DOCS,
      answer: { status: 200, body: { success: true, result: { status: 'successful' } } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 2,
  maxPerSecond: null,
  events: ['call_saved'],
  sources: [DOCS],
  lookup: {
    method: 'GET',
    url: LOOKUP_URL,
    headers: HEADERS,
    item: '/result/0',
    fault: '/error/code',
    fields: { id: '/id', name: ['/firstname', '/lastname'] },
    user: '/assigned_user_id',
    spellings: ['e164', 'digits', 'national'],
    source: DOCS,
    answer: FOUND,
  },
  directory: {
    method: 'GET',
    url: 'query?query=select%20id,first_name,last_name%20from%20Users;',
    headers: HEADERS,
    when: [REFUSED],
    items: '/result',
    id: '/id',
    name: ['/first_name', '/last_name'],
    source: DOCS,
    answer: { status: 200, body: { success: true, result: [{ id: '19x1', first_name: 'Anna', last_name: 'Smith' }] } },
  },
  check: {
    method: 'GET',
    url: 'me',
    headers: HEADERS,
    when: [REFUSED],
    source: DOCS,
    answer: { status: 200, body: { success: true, result: { id: '19x1', user_name: 'admin' } } },
  },
}
