import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { IS_OUTSIDE, IS_PHONE, IS_WHOLE, NUMBER, OWNER, PHONE_USER, RESPONSIBLE, when } from './liquid.ts'
import { NUMERIC_ID, responsible, users, yesNo } from './parameters.ts'

/**
 * A call is registered once, under the id that Hookswitch gave it, so that a repeated request gets the same call, and
 * two calls between the same parties stay two. Cards are shown on each phone that rings, and hidden on phones that did
 * not answer. Then the call is finished, which creates the activity, and the recording is attached. The access token of
 * an application is sent as `Authorization: Bearer`, which Bitrix' module `rest` reads before the parameter `auth`
 * (lib/oauth/auth.php, getAuthKey).
 */
const DOCS = 'https://apidocs.bitrix24.com/api-reference'
const CALLS = `${DOCS}/telephony/telephony-external-call`

/** The API answers some errors with 200, and limits with 503. */
const ERRORS: readonly Rule[] = [
  { pointer: '/error', values: ['expired_token', 'NO_AUTH_FOUND', 'invalid_token'], then: 'renew' },
  {
    pointer: '/error',
    values: [
      'QUERY_LIMIT_EXCEEDED',
      'OVERLOAD_LIMIT',
      'OPERATION_TIME_LIMIT',
      'INTERNAL_SERVER_ERROR',
      'ERROR_UNEXPECTED_ANSWER',
      'CONNECTION_ERROR',
    ],
    then: 'retry',
  },
  { status: '5xx', then: 'retry' },
  { status: [429], then: 'retry' },
]
/** Any other error will be the same the next time. */
const FINAL: Rule = { pointer: '/error', then: 'fail' }
/** A failed card must not stop the registration of the call. */
const CARD_FAILED: Rule = { pointer: '/error', then: 'done' }

/** Every user who can have been shown a card: nobody notes who was. Bitrix24 takes a list of users. */
const ALL_USERS = `[{{ parameters.responsible | plus: 0 }}{% for one in parameters.users %},{{ one[1] | plus: 0 }}{% endfor %}]`

const ALREADY_FINISHED = 'Call is not found (call should be registered prior to finishing'

const TIME = { start: 1_773_131_821, finish: 1_773_131_822.195_407, duration: 1.195_407, processing: 1 }
const CALL_ID = 'externalCall.716f1cb73def9700a23842adf9c4c568.1773130779'

/** Codes of `finish`: 304 missed, 404 invalid, 480 unavailable, 486 busy, 503 no direction, 603-S cancelled. */
const STATUS = `{%- case data.call.result -%}
{%- when "answered" -%}200
{%- when "busy" -%}486
{%- when "failed" -%}{%- if data.call.hangup.cause == "invalid_number" -%}404{%- else -%}503{%- endif -%}
{%- else -%}
{%- if data.call.direction == "inbound" -%}304{%- elsif data.call.result == "cancelled" -%}603-S{%- else -%}480{%- endif -%}
{%- endcase -%}`

/** A consultation is registered only if it was not part of another call. */
/** Bitrix24 refuses a caller whose number is a word, as a trunk's user may be. */
const DIGITS = '{%- assign number_digits = number | digits -%}'

const IS_UNREGISTERED = `${NUMBER}${DIGITS}{%- if kept.call == nil and number_digits != "" and ${IS_OUTSIDE} and ${IS_WHOLE} -%}{%- if data.call.parent_id == nil or data.name == "call_ended" -%}yes{%- endif -%}{%- endif -%}`
const CALLER = `{%- assign user = parameters.responsible -%}
{%- if data.call.direction == "outbound" -%}{%- assign user = data.call.from.extension | map: parameters.users -%}{%- endif -%}`
const registerBody = (user: string): string => `${NUMBER}${user}
{"USER_ID":{{ user | default: parameters.responsible | plus: 0 }},"PHONE_NUMBER":{{ number }},"TYPE":{% if data.call.direction == "outbound" %}1{% else %}2{% endif %},"CALL_START_DATE":{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%S%:z" }},"CRM_CREATE":{% if parameters.create %}1{% else %}0{% endif %},"SHOW":{% if data.call.direction == "outbound" and user and data.name != "call_ended" %}1{% else %}0{% endif %},"ADD_TO_CHAT":0,{% if parameters.line %}"LINE_NUMBER":{{ parameters.line }},{% endif %}"EXTERNAL_CALL_ID":{{ data.call.id }}}`
const REGISTERED = {
  status: 200,
  body: {
    result: {
      CALL_ID,
      CRM_CREATED_LEAD: null,
      CRM_CREATED_ENTITIES: [],
      CRM_ENTITY_TYPE: 'CONTACT',
      CRM_ENTITY_ID: 797,
    },
    time: TIME,
  },
}

const finishBody = (user: string): string => `${user}{%- capture status -%}${STATUS}{%- endcapture -%}
{"CALL_ID":{{ kept.call }},"USER_ID":{{ user | plus: 0 }},"DURATION":{{ data.call.talk_duration | default: 0 }},"STATUS_CODE":{{ status }},"ADD_TO_CHAT":{% if data.call.missed %}1{% else %}0{% endif %}}`
const FINISHED = {
  status: 200,
  body: {
    result: {
      CALL_ID,
      PORTAL_USER_ID: 1269,
      PHONE_NUMBER: '19062195047',
      INCOMING: '2',
      CALL_DURATION: 95,
      CALL_STATUS: 1,
      CALL_FAILED_CODE: '200',
      CRM_ACTIVITY_ID: 7943,
      CRM_ENTITY_TYPE: 'CONTACT',
      CRM_ENTITY_ID: 797,
      ID: 7,
    },
    time: TIME,
  },
}
/** The call was finished by an earlier request, before this process was ended. */
const WAS_FINISHED: Rule = {
  pointer: '/error_description',
  // Bitrix24 sends it without the last bracket, its documentation has it.
  values: [ALREADY_FINISHED, `${ALREADY_FINISHED})`],
  then: 'done',
}

/** A user who has left must not cost the call: `name` is kept, and the responsible user takes the place. */
const userLeft = (name: string): Rule => ({
  pointer: '/error_description',
  values: ['User is not found or is not active'],
  then: 'done',
  keep: { [name]: '/error' },
})

export const BITRIX24: Preset = {
  name: 'bitrix24',
  title: 'Bitrix24',
  parameters: [
    responsible('The id', { required: true, form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    yesNo('create', 'Create leads', 'Create a lead when a caller is not found in the CRM', true),
    {
      name: 'line',
      title: 'External line',
      help: 'The number of an external line of telephony.externalLine.add, for the statistics',
      type: 'text',
      required: false,
      default: null,
    },
    {
      name: 'client_id',
      title: 'Application: client_id',
      help: 'Only for a local application, whose webhook has the URL https://example.bitrix24.com/rest/',
      type: 'text',
      required: false,
      default: null,
    },
    {
      name: 'client_secret',
      title: 'Application: client_secret',
      help: 'Only for a local application',
      type: 'secret',
      required: false,
      default: null,
    },
    {
      name: 'refresh_token',
      title: 'Application: refresh_token',
      help: 'Only for a local application',
      type: 'secret',
      required: false,
      default: null,
    },
  ],
  steps: [
    {
      name: 'register',
      // Creates the lead of an unknown caller, too.
      inTurn: { value: null },
      on: ['call_started', 'dial_started', 'call_ended'],
      if: IS_UNREGISTERED,
      url: 'telephony.externalCall.register.json',
      body: registerBody(CALLER),
      keep: { call: '/result/CALL_ID' },
      when: [...ERRORS, userLeft('caller_left'), FINAL],
      source: `${CALLS}-register.html`,
      answer: REGISTERED,
    },
    {
      name: 'register_for_responsible',
      inTurn: { value: null },
      on: ['call_started', 'dial_started', 'call_ended'],
      if: IS_UNREGISTERED,
      needs: ['caller_left'],
      url: 'telephony.externalCall.register.json',
      body: registerBody(RESPONSIBLE),
      keep: { call: '/result/CALL_ID' },
      when: [...ERRORS, FINAL],
      source: `${CALLS}-register.html`,
      answer: REGISTERED,
    },
    {
      name: 'show',
      on: ['dial_started'],
      if: when([IS_PHONE, 'user', IS_OUTSIDE, 'data.call.direction == "inbound"'], PHONE_USER),
      needs: ['call'],
      url: 'telephony.externalCall.show.json',
      body: `${PHONE_USER}{"CALL_ID":{{ kept.call }},"USER_ID":{{ user | plus: 0 }}}`,
      when: [...ERRORS, CARD_FAILED],
      source: `${CALLS}-show.html`,
      answer: { status: 200, body: { result: true, time: TIME } },
    },
    {
      name: 'hide',
      on: ['dial_ended'],
      if: when([IS_PHONE, 'user', 'data.stage.result != "answered"', 'data.call.direction == "inbound"'], PHONE_USER),
      needs: ['call'],
      url: 'telephony.externalCall.hide.json',
      body: `${PHONE_USER}{"CALL_ID":{{ kept.call }},"USER_ID":{{ user | plus: 0 }}}`,
      when: [...ERRORS, CARD_FAILED],
      source: `${CALLS}-hide.html`,
      answer: { status: 200, body: { result: true, time: TIME } },
    },
    {
      name: 'finish',
      on: ['call_ended'],
      if: when([IS_WHOLE]),
      needs: ['call'],
      url: 'telephony.externalCall.finish.json',
      body: finishBody(OWNER),
      keep: { activity: '/result/CRM_ACTIVITY_ID' },
      when: [...ERRORS, WAS_FINISHED, userLeft('owner_left'), FINAL],
      source: `${CALLS}-finish.html`,
      answer: FINISHED,
    },
    {
      name: 'finish_for_responsible',
      on: ['call_ended'],
      if: when([IS_WHOLE]),
      needs: ['call', 'owner_left'],
      url: 'telephony.externalCall.finish.json',
      body: finishBody(RESPONSIBLE),
      keep: { activity: '/result/CRM_ACTIVITY_ID' },
      when: [...ERRORS, WAS_FINISHED, FINAL],
      source: `${CALLS}-finish.html`,
      answer: FINISHED,
    },
    {
      // A call that went on in another one has no activity of its own: it is never finished.
      name: 'hide_joined',
      on: ['call_ended'],
      if: when(['data.call.merged_into']),
      needs: ['call'],
      url: 'telephony.externalCall.hide.json',
      body: `{"CALL_ID":{{ kept.call }},"USER_ID":${ALL_USERS}}`,
      when: [...ERRORS, CARD_FAILED],
      source: `${CALLS}-hide.html`,
      answer: { status: 200, body: { result: true, time: TIME } },
    },
    {
      name: 'hide_merged',
      on: ['call_transferred', 'call_ended'],
      each: '{{ merged | map: "kept" | map: "call" | compact | json }}',
      // The call of an outside party that was joined into an internal one is finished: that hides its card.
      if: '{% unless data.name == "call_ended" and item == kept.call %}yes{% endunless %}',
      url: 'telephony.externalCall.hide.json',
      body: `{"CALL_ID":{{ item }},"USER_ID":${ALL_USERS}}`,
      when: [...ERRORS, CARD_FAILED],
      source: `${CALLS}-hide.html`,
      answer: { status: 200, body: { result: true, time: TIME } },
    },
    {
      name: 'recording',
      on: ['recording_saved'],
      if: '{% if data.recording.format == "wav" or data.recording.format == "mp3" %}yes{% endif %}',
      needs: ['call'],
      url: 'telephony.externalCall.attachRecord.json',
      body: '{"CALL_ID":{{ kept.call }},"FILENAME":"{{ data.recording.id }}.{{ data.recording.format }}"}',
      keep: { upload: '/result/uploadUrl' },
      when: [...ERRORS, FINAL],
      source: `${CALLS}-attach-record.html`,
      answer: {
        status: 200,
        body: {
          result: { uploadUrl: '/rest/upload.json?auth=AUTH&token=TOKEN', fieldName: 'file' },
          time: TIME,
        },
      },
    },
    {
      name: 'upload',
      on: ['recording_saved'],
      if: '{% if data.recording.format == "wav" or data.recording.format == "mp3" %}yes{% endif %}',
      needs: ['upload'],
      url: '{{ kept.upload | raw }}',
      upload: { field: 'file' },
      when: [...ERRORS, FINAL],
      source: `${DOCS}/files/how-to-upload-files.html`,
      answer: { status: 200, body: { result: { FILE_ID: 9043 }, time: TIME } },
    },
  ],
  origins: [],
  authorization: ({ client_id, client_secret, refresh_token }) =>
    typeof client_id === 'string' && typeof client_secret === 'string' && typeof refresh_token === 'string'
      ? { kind: 'oauth2', token_url: 'https://oauth.bitrix.info/oauth/token/', client_id, client_secret, refresh_token }
      : null,
  parallel: 2,
  maxPerSecond: 2,
  events: ['call_started', 'dial_started', 'dial_ended', 'call_transferred', 'call_ended', 'recording_saved'],
  sources: [
    `${CALLS}-register.html`,
    `${CALLS}-show.html`,
    `${CALLS}-hide.html`,
    `${CALLS}-finish.html`,
    `${CALLS}-attach-record.html`,
    `${CALLS}-search-crm-entities.html`,
    'https://apidocs.bitrix24.com/limits.html',
  ],
  lookup: {
    url: 'telephony.externalCall.searchCrmEntities.json',
    body: '{"PHONE_NUMBER":{{ number }}}',
    item: '/result/0',
    fault: '/error',
    fields: { id: '/CRM_ENTITY_ID', name: '/NAME', owner: '/ASSIGNED_BY/USER_PHONE_INNER' },
    spellings: ['e164', 'digits'],
    page: '{origin}/crm/{/CRM_ENTITY_TYPE:lower}/details/{/CRM_ENTITY_ID}/',
    user: '/ASSIGNED_BY_ID',
    source: `${CALLS}-search-crm-entities.html`,
    answer: {
      status: 200,
      body: {
        result: [
          {
            CRM_ENTITY_TYPE: 'CONTACT',
            CRM_ENTITY_ID: 797,
            ASSIGNED_BY_ID: 1269,
            NAME: 'Maria Bern',
            ASSIGNED_BY: { ID: '1269', USER_PHONE_INNER: '101' },
          },
        ],
        time: TIME,
      },
    },
  },
  directory: {
    url: 'user.get.json',
    body: '{"FILTER":{"ACTIVE":true,"USER_TYPE":"employee"}}',
    when: [...ERRORS, FINAL],
    items: '/result',
    id: '/ID',
    name: ['/NAME', '/LAST_NAME'],
    extension: '/UF_PHONE_INNER',
    logins: ['/EMAIL'],
    source: `${DOCS}/user/user-get.html`,
    answer: {
      status: 200,
      body: { result: [{ ID: '1269', NAME: 'Anna', LAST_NAME: 'Smith', UF_PHONE_INNER: '101' }], total: 1, time: TIME },
    },
  },
  check: {
    url: 'user.current.json',
    body: '{}',
    when: [...ERRORS, FINAL],
    source: `${DOCS}/user/user-current.html`,
    answer: { status: 200, body: { result: { ID: '1', NAME: 'Admin' }, time: TIME } },
  },
}
