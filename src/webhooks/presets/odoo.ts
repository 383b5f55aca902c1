import type { Keep, Rule } from '../flows/model.ts'
import type { Preset } from '../flows/preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, OWNER, RESPONSIBLE, TITLE, when } from './liquid.ts'
import { NUMERIC_ID, responsible, secretKey, users, yesNo } from './parameters.ts'

/**
 * Odoo: the contact by number, then a note with the call on the contact, written by its owner, and an activity for a
 * missed call. Records are written with `load`, Odoo's import: a record with a known external id is updated, not
 * created twice. Odoo 19 and later have `/json/2`, earlier versions `/jsonrpc`; both take the same named arguments.
 */
const API = 'https://www.odoo.com/documentation/19.0/developer/reference/external_api.html'
const RPC = 'https://www.odoo.com/documentation/17.0/developer/reference/external_api.html'
const IMPORT = 'https://www.odoo.com/documentation/19.0/applications/essentials/export_import_data.html'

const IS_RPC = 'parameters.version == "rpc"'

/** Errors that a repeated request does not solve. */
const PERMANENT = [
  'odoo.exceptions.AccessError',
  'odoo.exceptions.UserError',
  'odoo.exceptions.ValidationError',
  'odoo.exceptions.MissingError',
  'builtins.ValueError',
  'builtins.KeyError',
  'builtins.TypeError',
]
const FAULTS: readonly Rule[] = [
  { pointer: '/error/data/name', values: PERMANENT, then: 'fail' },
  { pointer: '/error', then: 'retry' },
  { status: [401], then: 'renew' },
  { status: [400, 403, 404, 422], then: 'fail' },
  // `load` names the values it could not read, and has written nothing.
  { pointer: '/messages/0', then: 'fail' },
  { pointer: '/result/messages/0', then: 'fail' },
]

/** The request that calls a method of a model, with its named arguments as JSON with Liquid. */
const call = (model: string, method: string, args: string, before = '') => ({
  url: `{% if ${IS_RPC} %}/jsonrpc{% else %}/json/2/${model}/${method}{% endif %}`,
  headers: { authorization: 'bearer {{ parameters.key }}', 'x-odoo-database': '{{ parameters.database }}' },
  body: `${before}{% if ${IS_RPC} %}{"jsonrpc":"2.0","method":"call","id":1,"params":{"service":"object","method":"execute_kw","args":[{{ parameters.database }},{{ parameters.uid | plus: 0 }},{{ parameters.key }},"${model}","${method}",[],${args}]}}{% else %}${args}{% endif %}`,
})
/** Keeps a value of the result, which `/jsonrpc` has in an envelope. */
const keeping = (name: string, pointer: string): { keep: Keep; when: Rule[] } => ({
  keep: { [name]: pointer },
  when: [...FAULTS, { pointer: `/result${pointer}`, then: 'done', keep: { [name]: `/result${pointer}` } }],
})

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

const CALL_KEY = '{%- assign key = data.call.id | replace: "-", "_" -%}'

export const ODOO: Preset = {
  name: 'odoo',
  title: 'Odoo',
  parameters: [
    {
      name: 'version',
      title: 'Version',
      help: 'The version of Odoo: 17 and 18 also need the id of the user of the key',
      type: 'choice',
      required: false,
      default: 'json2',
      choices: [
        { value: 'json2', title: '19 and later' },
        { value: 'rpc', title: '17 and 18' },
      ],
    },
    secretKey('key', 'API key', 'Preferences → Account security → New API key'),
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
      help: 'Only for 17 and 18: the number in the URL of the user under Settings → Users',
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
  ],
  steps: [
    {
      ...findContact('call_ended'),
      ...call(
        'res.partner',
        'search_read',
        '{"domain":[["phone_mobile_search","=",{{ number }}]],"fields":["id"],"limit":1}',
        NUMBER,
      ),
      ...keeping('contact', '/0/id'),
      source: API,
      answer: { status: 200, body: [{ id: 25, name: 'Maria Bern' }] },
    },
    {
      ...createContact('call_ended'),
      ...call(
        'res.partner',
        'load',
        '{"fields":["id","name","phone"],"data":[["hookswitch.caller_{{ number | digits }}",{{ caller }},{{ number }}]]}',
        NUMBER,
      ),
      ...keeping('contact', '/ids/0'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [25], messages: [], nextrow: 0 } },
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
    {
      name: 'note',
      on: ['call_ended'],
      if: when([IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact'],
      ...call(
        'mail.message',
        'load',
        '{"context":{"tz":"UTC"},"fields":["id","model","res_id","message_type","subtype_id/id","date","subject","body"{% if kept.owner %},"author_id/.id"{% endif %}],"data":[["hookswitch.call_{{ key }}","res.partner","{{ kept.contact }}","comment","mail.mt_note",{{ data.call.started_at | local_time: "UTC", "%Y-%m-%d %H:%M:%S" }},{{ title }},{{ facts | escape | newline_to_br }}{% if kept.owner %},"{{ kept.owner }}"{% endif %}]]}',
        NUMBER + TITLE + FACTS + CALL_KEY,
      ),
      ...keeping('note', '/ids/0'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [341], messages: [], nextrow: 0 } },
    },
    {
      name: 'missed',
      on: ['call_ended'],
      if: when(['data.call.missed', IS_OUTSIDE, IS_WHOLE]),
      needs: ['contact', 'user'],
      ...call(
        'mail.activity',
        'load',
        '{"fields":["id","res_model_id/id","res_id","activity_type_id/id","user_id/.id","date_deadline","summary"],"data":[["hookswitch.missed_{{ key }}","base.model_res_partner","{{ kept.contact }}","mail.mail_activity_data_call","{{ kept.user }}",{{ data.call.ended_at | local_time: "UTC", "%Y-%m-%d" }},{{ title }}]]}',
        NUMBER + TITLE + CALL_KEY,
      ),
      ...keeping('missed', '/ids/0'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [58], messages: [], nextrow: 0 } },
    },
    {
      name: 'recording',
      on: ['recording_saved'],
      if: '{% if data.recording.url %}yes{% endif %}',
      needs: ['contact', 'note'],
      ...call(
        'ir.attachment',
        'load',
        '{"fields":["id","name","description","type","url","res_model","res_id"],"data":[["hookswitch.recording_{{ data.recording.id | replace: "-", "_" }}","Recording of {{ data.call.started_at | slice: 0, 16 | replace: "T", " " }} UTC","Call: {{ data.call.id }}","url",{{ data.recording.url }},"res.partner","{{ kept.contact }}"]]}',
      ),
      ...keeping('recording', '/ids/0'),
      source: IMPORT,
      answer: { status: 200, body: { ids: [77], messages: [], nextrow: 0 } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: null,
  events: ['call_started', 'call_ended', 'recording_saved'],
  sources: [API, RPC, IMPORT],
  lookup: {
    ...call(
      'res.partner',
      'search_read',
      '{"domain":[["phone_mobile_search","=",{{ number }}]],"fields":["name","parent_name","user_id"],"limit":1}',
    ),
    item: ({ version }) => (version === 'rpc' ? '/result/0' : '/0'),
    fault: '/error',
    fields: { id: '/id', name: '/name', company: '/parent_name' },
    spellings: ['e164', 'national'],
    source: API,
    answer: {
      status: 200,
      body: [{ id: 25, name: 'Maria Bern', parent_name: 'Bern & Co', user_id: [7, 'Anna Smith'] }],
    },
  },
  directory: {
    ...call('res.users', 'search_read', '{"domain":[["share","=",false]],"fields":["name"],"limit":500}'),
    when: [...FAULTS],
    items: '',
    id: '/id',
    name: ['/name'],
    source: API,
    answer: { status: 200, body: [{ id: 7, name: 'Anna Smith' }] },
  },
  check: {
    ...call('res.users', 'context_get', '{}'),
    // `/jsonrpc` answers a wrong key with 200.
    when: [...FAULTS],
    source: API,
    answer: { status: 200, body: { lang: 'en_US', tz: 'Europe/Berlin', uid: 2 } },
  },
}
