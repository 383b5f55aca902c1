import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { createsContacts, responsible, secretKey, users, yesNo } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'

/**
 * Frappe CRM: the contact with its deal, or the lead, by the spellings of the number (the CRM's own search compares
 * numbers of all countries as Indian ones); a call log whose `id` is Hookswitch's id of the call, so that a repeated
 * one is refused; its recordings in a note of the call log, whose own field is too short for a link; and a task for a
 * missed call.
 */
const DOCS = 'https://docs.frappe.io/framework/user/en/api/rest'
/** What the documentation leaves out was read in the source of Frappe CRM 1.34.5 and Frappe 15.44.2. */
const SOURCE = 'https://github.com/frappe/crm/blob/v1.34.5/crm'

const HEADERS = { authorization: 'token {{ parameters.key }}:{{ parameters.secret }}' }
const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [429], then: 'retry' },
]
/** All that a document may not say has this status; a document that another request saves at once, too. */
const INVALID = 417
const SAVED_AT_ONCE: Rule = {
  status: [INVALID],
  pointer: '/exc_type',
  values: ['TimestampMismatchError'],
  then: 'retry',
}
/** The user, or the record that the document is about, is there no longer. */
const LINK_MISSING = { status: [INVALID], pointer: '/exc_type', values: ['LinkValidationError'] }
const USER_REFUSED = { ...LINK_MISSING, mark: '/exc_type' }
const FINAL: Rule = { status: [400, 403, 404, 405, 409, INVALID], then: 'fail' }
/** A role without tasks must not cost the call, nor a task that a person has deleted. */
const NO_TASKS: Rule = { status: [400, 403, 404, 405, 409, INVALID], then: 'done' }

const CALL = [IS_OUTSIDE, IS_WHOLE]
const MISSED = ['parameters.callback', 'data.call.missed', ...CALL]
/** The kept names of the open tasks of a contact. */
const OPEN = ['open_1', 'open_2', 'open_3', 'open_4', 'open_5']
const RECORDING = '{%- assign link = data.recordings | map: "url" | compact | first -%}'

/** The URL of a search. `filters`: a template of JSON. */
const search = (doctype: string, filters: string, { fields = '%5B%22name%22%5D', limit = 1, by = 'filters' } = {}) =>
  `{%- capture wanted -%}${filters}{%- endcapture -%}/api/resource/${doctype}?${by}={{ wanted }}&fields=${fields}&limit_page_length=${limit}`
/** Frappe compares numbers as the texts that people have typed. */
const SPELLINGS = '{{ number | spellings | json }}'
const local = (time: string): string => `{{ ${time} | local_time: kept.zone, "%Y-%m-%d %H:%M:%S" }}`
/** What a document is about: the deal or lead of the number, else the contact. */
const REFERENCE = `"reference_doctype":{% if kept.deal %}"CRM Deal"{% elsif kept.lead %}"CRM Lead"{% else %}"Contact"{% endif %},"reference_docname":{{ kept.deal | default: kept.lead | default: kept.contact }}`
const about = `{% if kept.contact %},${REFERENCE}{% endif %}`
const AS_HTML = 'escape | newline_to_br'
const STATUS = `{% case data.call.result %}{% when "answered" %}"Completed"{% when "busy" %}"Busy"{% when "failed" %}"Failed"{% else %}"No Answer"{% endcase %}`

export const FRAPPE: Preset = {
  name: 'frappe',
  title: 'Frappe CRM',
  parameters: [
    secretKey(
      'key',
      'API key',
      'From a user with the role Sales User: the user → Settings → API Access → Generate Keys',
    ),
    secretKey('secret', 'API secret', 'Frappe shows it once, when the keys are generated'),
    responsible('The name (an e-mail address)', { required: true }),
    users(),
    createsContacts(true),
    yesNo(
      'callback',
      'Tasks for missed calls',
      'A missed call is also a task for its owner, which is done when the contact was spoken to',
      true,
    ),
  ],
  steps: [
    {
      name: 'zone',
      on: ['call_saved'],
      if: when(['number', ...CALL], NUMBER),
      method: 'GET',
      url: '/api/method/frappe.client.get_time_zone',
      headers: HEADERS,
      keep: { zone: '/message/time_zone' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}`,
      answer: { status: 200, body: { message: { time_zone: 'Europe/Berlin' } } },
    },
    {
      ...findContact('call_saved'),
      method: 'GET',
      url: `${NUMBER}${search('Contact', `[["Contact Phone","phone","in",${SPELLINGS}]]`, { fields: '%5B%22name%22,%22full_name%22%5D' })}`,
      headers: HEADERS,
      keep: { contact: '/data/0/name', contact_name: '/data/0/full_name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [] } },
    },
    {
      ...findContact('call_saved'),
      name: 'lead',
      method: 'GET',
      url: `${NUMBER}${search('CRM%20Lead', `[["mobile_no","in",${SPELLINGS}],["phone","in",${SPELLINGS}]]`, { by: 'filters=%5B%5B%22converted%22,%22=%22,0%5D%5D&or_filters', fields: '%5B%22name%22,%22lead_name%22%5D' })}`,
      headers: HEADERS,
      keep: { contact: '/data/0/name', lead: '/data/0/name', contact_name: '/data/0/lead_name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [] } },
    },
    {
      name: 'deal',
      on: ['call_saved'],
      if: `{%- if kept.lead == nil -%}yes{%- endif -%}`,
      needs: ['contact'],
      method: 'GET',
      url: search(
        'CRM%20Deal',
        '[["CRM Contacts","contact","=",{{ kept.contact | json }}],["CRM Contacts","is_primary","=",1]]',
      ),
      headers: HEADERS,
      keep: { deal: '/data/0/name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [] } },
    },
    ...ownedStep({
      ...createContact('call_saved'),
      inTurn: { value: null },
      url: '/api/resource/CRM%20Lead',
      headers: HEADERS,
      body: (user) => `${NUMBER}${user}{"first_name":{{ caller }},"mobile_no":{{ number }},"lead_owner":{{ user }}}`,
      keep: { contact: '/data/name', lead: '/data/name' },
      result: 'contact',
      refused: [USER_REFUSED],
      when: [...LIMITS, CONTACT_REFUSED, { status: [INVALID], then: 'done' }, CONTACT_FORBIDDEN],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: { name: 'CRM-LEAD-2026-00001', lead_name: '+4930123456' } } },
    }),
    {
      name: 'find_note',
      on: ['call_saved'],
      if: when(['number', 'link', 'kept.note == nil', ...CALL], NUMBER + RECORDING),
      method: 'GET',
      url: search('FCRM%20Note', '[["content","like","%{{ data.call.id }}%"]]'),
      headers: HEADERS,
      keep: { note: '/data/0/name' },
      when: [...LIMITS, FINAL],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [] } },
    },
    {
      name: 'note',
      on: ['call_saved'],
      again: 'find_note',
      if: when(['number', 'link', 'kept.note == nil', ...CALL], NUMBER + RECORDING),
      url: '/api/resource/FCRM%20Note',
      headers: HEADERS,
      body: `${NUMBER}${TITLE}${FACTS}{%- capture content -%}{{ facts | ${AS_HTML} }}{% for one in data.recordings %}{% if one.url %}<br><a href="{{ one.url | escape }}">Recording</a>{% endif %}{% endfor %}{%- endcapture -%}
{"title":{{ title }},"content":{{ content }}}`,
      keep: { note: '/data/name' },
      when: [...LIMITS, FINAL],
      source: `${SOURCE}/fcrm/doctype/fcrm_note/fcrm_note.json`,
      answer: { status: 200, body: { data: { name: '5d9rq4s2v1' } } },
    },
    ...ownedStep({
      name: 'call',
      on: ['call_saved'],
      // The named record may be gone: the flow searches it again.
      again: 'contact',
      if: when(['number', 'kept.call == nil', ...CALL], NUMBER),
      url: '/api/resource/CRM%20Call%20Log',
      headers: HEADERS,
      body: (user) => `${NUMBER}${user}
{"id":{{ data.call.id }},"type":{% if data.call.direction == "outbound" %}"Outgoing","caller":{{ user }}{% else %}"Incoming","receiver":{{ user }}{% endif %},"from":{{ data.call.from.e164 | default: data.call.from.number }},"to":{{ data.call.to.e164 | default: data.call.to.number | default: data.call.did }},"status":${STATUS},"duration":{{ data.call.talk_duration | default: 0 }},"start_time":"${local('data.call.started_at')}","end_time":"${local('data.call.ended_at')}"{% if kept.note %},"note":{{ kept.note }}{% endif %}${about}}`,
      keep: { call: '/data/name' },
      result: 'call',
      refused: [USER_REFUSED],
      // The CRM has a call with this id already, made by a request whose answer was lost.
      when: [
        ...LIMITS,
        { status: [409], pointer: '/exc_type', values: ['DuplicateEntryError'], then: 'done' },
        { ...LINK_MISSING, then: 'again' },
        FINAL,
      ],
      source: `${SOURCE}/fcrm/doctype/crm_call_log/crm_call_log.json`,
      answer: { status: 200, body: { data: { name: '0195a2c4-7d31-7c5e-9f0a-3b1d2c4e5f60', status: 'Completed' } } },
    }),
    {
      name: 'find_task',
      on: ['call_saved'],
      if: when([...MISSED, 'kept.task == nil']),
      needs: ['contact'],
      method: 'GET',
      url: search('CRM%20Task', '[["description","like","%{{ data.call.id }}%"]]'),
      headers: HEADERS,
      keep: { task: '/data/0/name' },
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [] } },
    },
    ...ownedStep({
      name: 'task',
      on: ['call_saved'],
      again: 'find_task',
      if: when([...MISSED, 'kept.task == nil']),
      needs: ['contact'],
      url: '/api/resource/CRM%20Task',
      headers: HEADERS,
      body: (user) =>
        `${NUMBER}${user}${TITLE}${FACTS}{"title":{{ title }},"status":"Todo","priority":"Medium","assigned_to":{{ user }},"due_date":"${local('data.call.ended_at')}","description":{{ facts | ${AS_HTML} }}${about}}`,
      keep: { task: '/data/name' },
      result: 'task',
      refused: [USER_REFUSED],
      when: [...LIMITS, SAVED_AT_ONCE, NO_TASKS],
      source: `${SOURCE}/fcrm/doctype/crm_task/crm_task.json`,
      answer: { status: 200, body: { data: { name: 12, status: 'Todo' } } },
    }),
    {
      name: 'open_tasks',
      on: ['call_saved'],
      if: when(['parameters.callback', 'data.call.result == "answered"', ...CALL]),
      needs: ['contact'],
      method: 'GET',
      url: search(
        'CRM%20Task',
        '[["reference_docname","=",{{ kept.deal | default: kept.lead | default: kept.contact | json }}],["status","in",["Backlog","Todo","In Progress"]],["title","like","Missed call%"],["description","like","%Call: %"]]',
        { limit: OPEN.length },
      ),
      headers: HEADERS,
      keep: Object.fromEntries(OPEN.map((name, at) => [name, `/data/${at}/name`])),
      when: [...LIMITS, NO_TASKS],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: [{ name: 12 }] } },
    },
    {
      name: 'called_back',
      on: ['call_saved'],
      needs: ['open_1'],
      each: `{{ ""${OPEN.map((name) => ` | append: kept.${name} | append: ","`).join('')} | split: "," | json }}`,
      method: 'PUT',
      url: '/api/resource/CRM%20Task/{{ item }}',
      headers: HEADERS,
      body: '{"status":"Done"}',
      when: [...LIMITS, SAVED_AT_ONCE, NO_TASKS],
      source: `${DOCS}`,
      answer: { status: 200, body: { data: { name: 12, status: 'Done' } } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: null,
  events: ['call_saved'],
  tried: 'Frappe CRM 1.34.5 on Frappe 15.44.2',
  sources: [DOCS, SOURCE],
  lookup: {
    method: 'GET',
    url: search('Contact', `[["Contact Phone","phone","in",${SPELLINGS}]]`, {
      fields: '%5B%22name%22,%22full_name%22,%22company_name%22%5D',
    }),
    headers: HEADERS,
    item: '/data/0',
    fields: { id: '/name', name: '/full_name', company: '/company_name' },
    page: '{origin}/crm/contacts/{/name}',
    spellings: ['e164'],
    source: `${DOCS}`,
    answer: {
      status: 200,
      body: { data: [{ name: 'Maria Bern', full_name: 'Maria Bern', company_name: 'Bern & Co' }] },
    },
  },
  directory: {
    method: 'GET',
    url: '/api/resource/User?filters=%5B%5B%22enabled%22,%22=%22,1%5D,%5B%22user_type%22,%22=%22,%22System%20User%22%5D%5D&fields=%5B%22name%22,%22full_name%22,%22username%22%5D&order_by=full_name&limit_page_length=200',
    headers: HEADERS,
    items: '/data',
    id: '/name',
    name: ['/full_name'],
    logins: ['/username', '/name'],
    source: `${DOCS}`,
    answer: { status: 200, body: { data: [{ name: 'anna@example.com', full_name: 'Anna Smith', username: 'anna' }] } },
  },
  check: {
    method: 'GET',
    url: '/api/method/frappe.auth.get_logged_user',
    headers: HEADERS,
    source: `${DOCS}`,
    answer: { status: 200, body: { message: 'hookswitch@example.com' } },
  },
  advice: {
    401: 'the key or the secret is wrong: make a new one, under Settings → API Access of the user',
    403: 'the user of the key lacks the role Sales User',
    417: 'Frappe CRM is not installed on this site, or its version is another than the guide names',
  },
}
