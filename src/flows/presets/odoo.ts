import type { Keep, Rule, StepEvent } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, OWNER, RESPONSIBLE, TITLE, when } from './liquid.ts'
import { NUMERIC_ID, responsible, secretKey, users, yesNo } from './parameters.ts'

/**
 * Odoo: the contact by number, then a note with the call on the contact, written by its owner, and an activity for a
 * missed call. A contact is created by `create`, which cannot change one that is there. Records of the call are written
 * with `load`, Odoo's import, which takes the names of types in place of their numbers; a step before looks for the
 * record by the id of the call, since `load` would write a record again that a person may have changed. Odoo 19 and
 * later have `/json/2`, earlier versions `/jsonrpc`; both take the same named arguments.
 */
const API = 'https://www.odoo.com/documentation/19.0/developer/reference/external_api.html'
const RPC = 'https://www.odoo.com/documentation/17.0/developer/reference/external_api.html'
const IMPORT = 'https://www.odoo.com/documentation/19.0/applications/essentials/export_import_data.html'

const IS_RPC = 'parameters.version == "rpc"'

/** A record that the request needs is gone. */
const MISSING = 'odoo.exceptions.MissingError'
/** Errors that a repeated request does not solve. */
const PERMANENT = [
  'odoo.exceptions.AccessError',
  'odoo.exceptions.UserError',
  'odoo.exceptions.ValidationError',
  MISSING,
  'builtins.ValueError',
  'builtins.KeyError',
  'builtins.TypeError',
]
const FAULTS: readonly Rule[] = [
  { pointer: '/error/data/name', values: PERMANENT, then: 'fail' },
  { pointer: '/error', then: 'retry' },
  { status: [401], then: 'renew' },
  { status: [400, 403, 404, 422], then: 'fail' },
]
/**
 * `load` has written nothing, and names the reason: a conflict with a transaction at the same time, or a contact that
 * was merged or deleted since it was found. Odoo 14 answers such a conflict with an error, too: it misses a record that
 * it has just taken back.
 */
const NOT_LOADED: readonly Rule[] = [
  { pointer: '/error/data/name', values: [MISSING], then: 'again' },
  { pointer: '/name', values: [MISSING], then: 'again' },
  { pointer: '/messages/0/message', then: 'again' },
  { pointer: '/result/messages/0/message', then: 'again' },
]
/** Whatever Odoo refuses for good does not matter. */
const MAY_BE_REFUSED: readonly Rule[] = [
  { pointer: '/error/data/name', values: PERMANENT, then: 'done' },
  { status: [400, 403, 404, 422], then: 'done' },
]

/** The request that calls a method of a model, with its named arguments as JSON with Liquid. */
const call = (model: string, method: string, args: string, before = '') => ({
  url: `{% if ${IS_RPC} %}/jsonrpc{% else %}/json/2/${model}/${method}{% endif %}`,
  headers: { authorization: 'bearer {{ parameters.key }}', 'x-odoo-database': '{{ parameters.database }}' },
  body: `${before}{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"${model}","${method}",[],${args}]}}{% else %}${args}{% endif %}`,
})
/** The request that creates a record, which `/jsonrpc` takes as a positional argument. */
const create = (model: string, values: string, before: string) => ({
  ...call(model, 'create', '', ''),
  body: `${before}{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"${model}","create",[[${values}]],{}]}}{% else %}{"vals_list":[${values}]}{% endif %}`,
})
/** Keeps values of the result, which `/jsonrpc` has in an envelope. */
const keeping = (keep: Keep): { keep: Keep; when: Rule[] } => ({
  keep,
  when: [
    ...FAULTS,
    {
      pointer: '/result',
      then: 'done',
      keep: Object.fromEntries(Object.entries(keep).map(([name, pointer]) => [name, `/result${pointer}`])),
    },
  ],
})
/** Keeps the id of the record that `load` has made. */
function keepingLoaded(name: string): { keep: Keep; when: Rule[] } {
  const { keep, when } = keeping({ [name]: '/ids/0' })
  return { keep, when: [...NOT_LOADED, ...when] }
}
/** The step that looks for the record of this call that an earlier request may have made: `name` is kept. */
const findOwn = (
  name: string,
  { model, domain, ...step }: { model: string; domain: string; on: [StepEvent]; if: string; needs: string[] },
) => ({
  ...step,
  ...call(model, 'search_read', `{"context":{"active_test":false},"domain":[${domain}],"fields":["id"],"limit":1}`),
  name: `find_${name}`,
  ...keeping({ [name]: '/0/id' }),
  source: API,
  answer: { status: 200, body: [] },
})
/** The `if` of a step that creates a record of this call, or looks for it, unless it is known. */
const unlessKept = (name: string, conditions: readonly string[]): string => when([`kept.${name} == nil`, ...conditions])
/** The fields by which the contact of a number is found: a model has them, or not, by version and installed modules. */
const NUMBER_FIELDS = ['phone_sanitized', 'phone_mobile_search', 'mobile'] as const
/** A search for less than three characters is refused. */
const IS_NUMBER = 'number.size > 2'
/** `plain`: the number's digits; `home`: those dialled within its country. Where they are few, the number itself. */
const SPELLINGS = ['plain = number | digits', 'home = number | national']
  .map((assigned) => {
    const [name] = assigned.split(' ')
    return `{%- assign ${assigned} -%}{%- if ${name}.size < 3 -%}{%- assign ${name} = number -%}{%- endif -%}`
  })
  .join('')
type NumberField = (typeof NUMBER_FIELDS)[number]
/** Returns text for a model that has the field. */
const where = (field: NumberField, text: string): string => `{% if kept.${field} %}${text}{% endif %}`
/** Returns a domain that is true if the first condition is, or one of a field that the model has. */
const oneOf = (first: string, others: readonly (readonly [NumberField, string])[]): string =>
  `${others.map(([field]) => where(field, '"|",')).join('')}${first}${others.map(([field, leaf]) => where(field, `,${leaf}`)).join('')}`
const IN_E164 = oneOf('["phone","in",[{{ number }},{{ plain }}]]', [
  ['phone_sanitized', '["phone_sanitized","=",{{ number }}]'],
  ['phone_mobile_search', '"|",["phone_mobile_search","=",{{ number }}],["phone_mobile_search","=",{{ plain }}]'],
  ['mobile', '["mobile","in",[{{ number }},{{ plain }}]]'],
])
const AT_HOME = oneOf('["phone","=",{{ home }}]', [
  ['phone_mobile_search', '["phone_mobile_search","=",{{ home }}]'],
  ['mobile', '["mobile","=",{{ home }}]'],
])
/**
 * Odoo writes no E.164 where it does not know the country, or holds the number to be invalid. A contact with an E.164
 * is not compared in national form: another country may have that number, too. (Of two numbers Odoo writes the mobile
 * phone's.)
 */
const HAS_NO_COUNTRY = `{% if kept.phone_sanitized %}${where('mobile', '"|",["mobile","!=",false],')}["phone_sanitized","not like","+"]{% else %}["phone","!=",""]{% endif %}`
const CONTACT_DOMAIN = `["|",${IN_E164},"&",${HAS_NO_COUNTRY},${AT_HOME}]`

/** Looks for an active user, whose partner is the author of the note. */
const findUser = (assignUser: string) => ({
  ...call(
    'res.users',
    'search_read',
    '{"domain":[["id","=",{{ user | plus: 0 }}]],"fields":["partner_id"],"limit":1}',
    assignUser,
  ),
  keep: { owner: '/0/partner_id/0', user: '/0/id' },
  when: [
    ...FAULTS,
    {
      pointer: '/result/0/id',
      then: 'done' as const,
      keep: { owner: '/result/0/partner_id/0', user: '/result/0/id' },
    },
  ],
})

/** The kept ids of the activities for missed calls of a contact. */
const OPEN = ['open_1', 'open_2', 'open_3', 'open_4', 'open_5']

/** Of several recordings of a call, the one of this event. */
const IS_FOUND = 'kept.found_of contains data.recording.id'
const ATTACHMENT = `{%- assign attachment = kept.recording -%}{%- if ${IS_FOUND} -%}{%- assign attachment = kept.found -%}{%- endif -%}`
const HAS_RECORDING = '{% if data.recording.url %}yes{% endif %}'
const ZONE = '{%- assign zone = parameters.timezone | default: "UTC" -%}'
const CALL_KEY = '{%- assign key = data.call.id | replace: "-", "_" -%}'

export const ODOO: Preset = {
  name: 'odoo',
  title: 'Odoo',
  parameters: [
    {
      name: 'version',
      title: 'Version',
      help: 'The version of Odoo: 18 and earlier also need the id of the user of the key',
      type: 'choice',
      required: false,
      default: 'json2',
      choices: [
        { value: 'json2', title: '19 and later' },
        { value: 'rpc', title: '18 and earlier' },
      ],
    },
    secretKey('key', 'API key', 'My Preferences → Security; before Odoo 19: Preferences → Account Security'),
    {
      name: 'database',
      title: 'Database',
      help: 'The name of the database',
      type: 'text',
      required: true,
      default: null,
    },
    {
      name: 'uid',
      title: 'Id of the user of the key',
      help: 'Only for 18 and earlier: the number in the URL of the user under Settings → Users',
      type: 'text',
      required: false,
      default: null,
      form: NUMERIC_ID,
    },
    responsible('The id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    yesNo(
      'create',
      'Create contacts',
      'Create a contact when a caller is not found; its calls are then noted there',
      true,
    ),
    yesNo(
      'callback',
      'Close missed calls',
      'The activity for a missed call is done by itself when the contact was spoken to since',
      true,
    ),
    {
      name: 'timezone',
      title: 'Time zone',
      help: 'The name of the zone, such as Europe/Berlin, whose day is the deadline of the activity for a missed call',
      type: 'text',
      required: false,
      default: 'UTC',
    },
  ],
  steps: [
    {
      ...findContact('call_ended'),
      name: 'fields',
      ...call(
        'res.partner',
        'fields_get',
        `{"allfields":[${NUMBER_FIELDS.map((field) => `"${field}"`).join(',')}],"attributes":["type"]}`,
      ),
      ...keeping(Object.fromEntries(NUMBER_FIELDS.map((field) => [field, `/${field}/type`]))),
      source: API,
      answer: { status: 200, body: { phone_sanitized: { type: 'char' }, phone_mobile_search: { type: 'char' } } },
    },
    {
      ...findContact('call_ended'),
      if: when(['number', IS_NUMBER, 'kept.contact == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      ...call(
        'res.partner',
        'search_read',
        `{"domain":${CONTACT_DOMAIN},"fields":["name"],"limit":1,"order":"id"}`,
        NUMBER + SPELLINGS,
      ),
      ...keeping({ contact: '/0/id', contact_name: '/0/name' }),
      source: API,
      answer: { status: 200, body: [{ id: 25, name: 'Maria Bern' }] },
    },
    {
      ...createContact('call_ended'),
      // With the fields: which of them the model has is not known after a repetition.
      again: 'fields',
      inTurn: { value: null },
      ...create('res.partner', '{"name":{{ caller }},"phone":{{ number }}}', NUMBER),
      ...keeping({ contact: '/0' }),
      source: API,
      answer: { status: 200, body: [25] },
    },
    {
      name: 'owner',
      on: ['call_ended'],
      if: when(['user', IS_OUTSIDE, IS_WHOLE], OWNER),
      needs: ['contact'],
      ...findUser(OWNER),
      source: API,
      answer: { status: 200, body: [{ id: 7, partner_id: [12, 'Anna Smith'] }] },
    },
    {
      // The owner has left: an archived user is not found.
      name: 'owner_for_responsible',
      on: ['call_ended'],
      if: when(['user', 'kept.user == nil', IS_OUTSIDE, IS_WHOLE], RESPONSIBLE),
      needs: ['contact'],
      ...findUser(RESPONSIBLE),
      source: API,
      answer: { status: 200, body: [{ id: 7, partner_id: [12, 'Anna Smith'] }] },
    },
    findOwn('note', {
      model: 'mail.message',
      on: ['call_ended'],
      if: unlessKept('note', [IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact'],
      domain:
        '["model","=","res.partner"],["res_id","=",{{ kept.contact }}],["message_type","=","comment"],["body","ilike","Call: {{ data.call.id }}"]',
    }),
    {
      name: 'note',
      on: ['call_ended'],
      if: unlessKept('note', [IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact'],
      again: 'contact',
      ...call(
        'mail.message',
        'load',
        '{"context":{"tz":"UTC"},"fields":["id","model","res_id","message_type","subtype_id/id","date","subject","body"{% if kept.owner %},"author_id/.id"{% endif %}],"data":[["hookswitch.call_{{ key }}_{{ kept.contact }}","res.partner","{{ kept.contact }}","comment","mail.mt_note",{{ data.call.started_at | local_time: "UTC", "%Y-%m-%d %H:%M:%S" }},{{ title }},{{ facts | escape | newline_to_br }}{% if kept.owner %},"{{ kept.owner }}"{% endif %}]]}',
        NUMBER + TITLE + FACTS + CALL_KEY,
      ),
      ...keepingLoaded('note'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [341], messages: [], nextrow: 0 } },
    },
    findOwn('missed', {
      model: 'mail.activity',
      on: ['call_ended'],
      if: unlessKept('missed', ['data.call.missed', IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact', 'user'],
      domain:
        '["res_model","=","res.partner"],["res_id","=",{{ kept.contact }}],["note","ilike","Call: {{ data.call.id }}"]',
    }),
    {
      name: 'missed',
      on: ['call_ended'],
      if: unlessKept('missed', ['data.call.missed', IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact', 'user'],
      again: 'contact',
      ...call(
        'mail.activity',
        'load',
        '{"fields":["id","res_model_id/id","res_id","activity_type_id/id","user_id/.id","date_deadline","summary","note"],"data":[["hookswitch.missed_{{ key }}_{{ kept.contact }}","base.model_res_partner","{{ kept.contact }}","mail.mail_activity_data_call","{{ kept.user }}",{{ data.call.ended_at | local_time: zone, "%Y-%m-%d" }},{{ title }},{{ facts | escape | newline_to_br }}]]}',
        NUMBER + TITLE + FACTS + CALL_KEY + ZONE,
      ),
      ...keepingLoaded('missed'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [58], messages: [], nextrow: 0 } },
    },
    {
      // A merge of contacts is a transaction of some seconds that moves the notes of its beginning. A later note stays
      // with the deleted contact, so the flow notes the call again on the remaining contact.
      name: 'still_there',
      on: ['call_ended'],
      if: when([IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact', 'note'],
      ...call(
        'res.partner',
        'search_read',
        '{"context":{"active_test":false},"domain":[["id","=",{{ kept.contact }}]],"fields":["id"],"limit":1}',
      ),
      when: [
        ...MAY_BE_REFUSED,
        ...FAULTS,
        { pointer: '/0/id', then: 'done' },
        { pointer: '/result/0/id', then: 'done' },
        { status: [200], then: 'again', step: 'contact' },
      ],
      source: API,
      answer: { status: 200, body: [{ id: 25 }] },
    },
    {
      name: 'open_missed',
      on: ['call_ended'],
      if: when(['parameters.callback', 'data.call.result == "answered"', IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact'],
      ...call(
        'mail.activity',
        'search_read',
        '{"domain":[["res_model","=","res.partner"],["res_id","=",{{ kept.contact }}],["summary","ilike","Missed call from"],["note","ilike","Call: "]],"fields":["id"],"limit":5,"order":"id"}',
      ),
      ...keeping(Object.fromEntries(OPEN.map((name, at) => [name, `/${at}/id`]))),
      source: API,
      answer: { status: 200, body: [{ id: 57 }] },
    },
    {
      // Done as a person would do it: Odoo notes it on the contact. One that a person has done meanwhile is missing.
      name: 'called_back',
      on: ['call_ended'],
      needs: ['open_1'],
      each: `{{ ""${OPEN.map((name) => ` | append: kept.${name} | append: ","`).join('')} | split: "," | json }}`,
      ...call('mail.activity', 'action_feedback', ''),
      body: `{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"mail.activity","action_feedback",[[{{ item | plus: 0 }}]],{}]}}{% else %}{"ids":[{{ item | plus: 0 }}]}{% endif %}`,
      when: [...MAY_BE_REFUSED, ...FAULTS],
      source: API,
      answer: { status: 200, body: 342 },
    },
    {
      // The contact may have been merged since: its notes are then with another one.
      name: 'place',
      on: ['recording_saved'],
      if: HAS_RECORDING,
      needs: ['note'],
      ...call('mail.message', 'search_read', '{"domain":[["id","=",{{ kept.note }}]],"fields":["res_id"],"limit":1}'),
      ...keeping({ place: '/0/res_id' }),
      source: API,
      answer: { status: 200, body: [{ id: 341, res_id: 25 }] },
    },
    {
      name: 'find_recording',
      on: ['recording_saved'],
      if: HAS_RECORDING,
      needs: ['place', 'note'],
      ...call(
        'ir.attachment',
        'search_read',
        '{"domain":[["res_model","=","res.partner"],["res_id","=",{{ kept.place }}],["description","ilike","{{ data.recording.id }}"]],"fields":["description"],"limit":1}',
      ),
      ...keeping({ found: '/0/id', found_of: '/0/description' }),
      source: API,
      answer: { status: 200, body: [] },
    },
    {
      name: 'recording',
      on: ['recording_saved'],
      if: `{% unless ${IS_FOUND} %}${HAS_RECORDING}{% endunless %}`,
      needs: ['place', 'note'],
      again: 'place',
      ...call(
        'ir.attachment',
        'load',
        '{"fields":["id","name","description","type","url","res_model","res_id"],"data":[["hookswitch.recording_{{ data.recording.id | replace: "-", "_" }}","Recording of {{ data.call.started_at | slice: 0, 16 | replace: "T", " " }} UTC","Call: {{ data.call.id }}, recording: {{ data.recording.id }}","url",{{ data.recording.url }},"res.partner","{{ kept.place }}"]]}',
      ),
      ...keepingLoaded('recording'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [77], messages: [], nextrow: 0 } },
    },
    {
      name: 'recording_of_note',
      on: ['recording_saved'],
      if: HAS_RECORDING,
      needs: ['place', 'note'],
      ...call('mail.message', 'write', ''),
      body: `${ATTACHMENT}{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"mail.message","write",[[{{ kept.note }}],{"attachment_ids":[[4,{{ attachment }}]]}],{}]}}{% else %}{"ids":[{{ kept.note }}],"vals":{"attachment_ids":[[4,{{ attachment }}]]}}{% endif %}`,
      // The recording is with the contact already: without its link in the note the call is complete.
      when: [...MAY_BE_REFUSED, ...FAULTS],
      source: API,
      answer: { status: 200, body: true },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: null,
  events: ['call_ended', 'recording_saved'],
  sources: [API, RPC, IMPORT],
  tried: 'Odoo 19.0, 18.0 and 14.0',
  lookup: {
    ...call(
      'res.partner',
      'search_read',
      `{"domain":[{% if ${IS_RPC} %}"|","|",["phone_sanitized","=",{{ number }}],["mobile","=",{{ number }}],["phone","=",{{ number }}]{% else %}"|",["phone_sanitized","=",{{ number }}],["phone_mobile_search","=",{{ number }}]{% endif %}],"fields":["name","parent_name","user_id"],"limit":1,"order":"id"}`,
    ),
    item: ({ version }) => (version === 'rpc' ? '/result/0' : '/0'),
    fault: '/error',
    fields: { id: '/id', name: '/name', company: '/parent_name' },
    page: ({ version }) =>
      version === 'rpc' ? '{origin}/web#id={/id}&model=res.partner&view_type=form' : '{origin}/odoo/res.partner/{/id}',
    user: '/user_id/0',
    spellings: ['e164', 'national'],
    source: API,
    answer: {
      status: 200,
      body: [{ id: 25, name: 'Maria Bern', parent_name: 'Bern & Co', user_id: [7, 'Anna Smith'] }],
    },
  },
  directory: {
    ...call('res.users', 'search_read', '{"domain":[["share","=",false]],"fields":["name","login"],"limit":500}'),
    when: [...FAULTS],
    items: '',
    id: '/id',
    name: ['/name'],
    logins: ['/login'],
    source: API,
    answer: { status: 200, body: [{ id: 7, name: 'Anna Smith', login: 'anna@example.com' }] },
  },
  check: {
    ...call('res.users', 'context_get', '{}'),
    // `/jsonrpc` answers a wrong key with 200.
    when: [...FAULTS],
    source: API,
    answer: { status: 200, body: { lang: 'en_US', tz: 'Europe/Berlin', uid: 2 } },
  },
  diagnosis: {
    url: '/jsonrpc',
    body: '{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"common","method":"version","args":[]}}',
    explanation: `{%- assign major = answer.result.server_version_info[0] -%}{%- assign version = answer.result.server_version -%}
{%- if parameters.version == "json2" and status == 404 -%}
{%- if major < 19 -%}the version is wrong: this is Odoo {{ version }}, so choose "18 and earlier", and give the id of the user of the key
{%- elsif major >= 19 -%}the database is wrong: this Odoo {{ version }} has none with the name {{ parameters.database }}. It is written in lower and upper case as in Odoo
{%- endif -%}{%- endif -%}`,
    source: RPC,
    answer: {
      status: 200,
      body: { jsonrpc: '2.0', id: 1, result: { server_version_info: [19, 0, 0, 'final', 0, ''] } },
    },
  },
  rights: {
    ...call('res.partner', 'has_access', '{"ids":[],"operation":"create"}'),
    // Versions before 18 have it by another name, which 18 still knows.
    body: `{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"res.partner","check_access_rights",["create",false],{}]}}{% else %}{"ids":[],"operation":"create"}{% endif %}`,
    explanation: `{%- assign may = answer -%}{%- if ${IS_RPC} -%}{%- assign may = answer.result -%}{%- endif -%}
{%- if may == false and parameters.create -%}the user of the key may not create contacts: give it Contact Creation in Odoo, or turn off new contacts{%- endif -%}`,
    source: API,
    answer: { status: 200, body: true },
  },
  expiry: {
    ...call(
      'res.users.apikeys',
      'search_read',
      '{"domain":[["expiration_date","!=",false]],"fields":["name","expiration_date","user_id"],"order":"expiration_date","limit":1}',
    ),
    explanation: `{%- assign key = answer[0] -%}{%- if ${IS_RPC} -%}{%- assign key = answer.result[0] -%}{%- endif -%}
{%- if key.expiration_date -%}The API key "{{ key.name }}" of {{ key.user_id[1] }} ends on {{ key.expiration_date | slice: 0, 10 }}, and Odoo refuses its calls from then on: make a new one before that day{%- endif -%}`,
    source: API,
    answer: {
      status: 200,
      body: [{ id: 1, name: 'hookswitch', expiration_date: '2027-02-16 19:18:47', user_id: [7, 'Anna'] }],
    },
  },
  // Earlier versions lack `/json/2`, an unknown database has no page at all, and `/jsonrpc` answers 200 to everything.
  advice: {
    200: 'compare the database, the id of the user, the key and the URL with the guide',
    404: 'the version, the database or the URL is wrong: Odoo 18 and earlier need the version rpc, the database is named in lower and upper case as in Odoo, and the URL has no path',
  },
}
