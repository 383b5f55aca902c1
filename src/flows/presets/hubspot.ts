import type { Rule } from '../model.ts'
import type { Preset } from '../preset.ts'
import { createContact, findContact } from './contact-steps.ts'
import { FACTS, IS_OUTSIDE, IS_WHOLE, NUMBER, TITLE, when } from './liquid.ts'
import { ownedStep } from './owned-steps.ts'
import { createsContacts, NUMERIC_ID, responsible, secretKey, users } from './parameters.ts'
import { CONTACT_FORBIDDEN, CONTACT_REFUSED } from './rules.ts'

/**
 * HubSpot: the contact by number, then the call as an upsert by a unique property with Hookswitch's id of it, so that a
 * repeated request creates no second call. HubSpot shows no card for an integration without a user interface.
 */
const DOCS = 'https://developers.hubspot.com/docs'
/** The dated version: the numbered ones (v1 to v4) end in 2027. */
const OBJECTS = '/crm/objects/2026-03'
const CALLS = `${DOCS}/guides/api/crm/engagements/calls`

const LIMITS: readonly Rule[] = [
  { status: [401], then: 'renew' },
  { status: [423, 429, 477], then: 'retry' },
]
/** HubSpot reports a removed owner like a malformed number: as an invalid value of the property. */
const USER_REFUSED = { status: [400], pointer: '/category', values: ['VALIDATION_ERROR'], mark: '/category' }
const FINAL: Rule = { status: [400, 403, 404, 409], then: 'fail' }
/** An upsert with a fault inside is answered with 207. */
const PARTLY: Rule = { pointer: '/errors/0', then: 'fail' }
const USER_PARTLY_REFUSED = {
  pointer: '/errors/0/category',
  values: ['VALIDATION_ERROR'],
  mark: '/errors/0/category',
}

const HEADERS = { authorization: 'Bearer {{ parameters.token }}' }
const STATUS = `{%- case data.call.result -%}{%- when "answered" -%}COMPLETED{%- when "busy" -%}BUSY{%- when "failed" -%}FAILED{%- when "cancelled" -%}{%- if data.call.direction == "outbound" -%}CANCELED{%- else -%}NO_ANSWER{%- endif -%}{%- else -%}NO_ANSWER{%- endcase -%}`
/** Ids of the outcomes that every account has. */
const OUTCOME = `{%- case data.call.result -%}{%- when "answered" -%}f240bbac-87c9-4f6e-bf70-924b57d47db7{%- when "busy" -%}9d9162e7-6cf3-4944-bf63-4dff82258764{%- when "voicemail" -%}b2cf5968-551e-4856-9783-52b3da59a7d0{%- else -%}73a0d17f-1163-4015-bdd5-ec830791da20{%- endcase -%}`

const SEARCH = `{"limit":1,"properties":["firstname","lastname","company","hubspot_owner_id"],"filterGroups":[{"filters":[{"propertyName":"phone","operator":"EQ","value":{{ number }}}]},{"filters":[{"propertyName":"mobilephone","operator":"EQ","value":{{ number }}}]},{"filters":[{"propertyName":"hs_searchable_calculated_phone_number","operator":"CONTAINS_TOKEN","value":"*{{ number | last_digits: 9 | default: number }}"}]},{"filters":[{"propertyName":"hs_searchable_calculated_mobile_number","operator":"CONTAINS_TOKEN","value":"*{{ number | last_digits: 9 | default: number }}"}]}]}`
const FOUND = {
  status: 200,
  body: {
    total: 1,
    results: [
      {
        id: '104901',
        properties: { firstname: 'Maria', lastname: 'Bern', company: 'Bern & Co', hubspot_owner_id: '11349275740' },
      },
    ],
  },
}

export const HUBSPOT: Preset = {
  name: 'hubspot',
  title: 'HubSpot',
  parameters: [
    secretKey(
      'token',
      'Service key',
      'Or the token of a private app that you have, with the scopes crm.objects.contacts.read and .write, crm.objects.owners.read, crm.schemas.contacts.write',
    ),
    responsible('The owner id', { form: NUMERIC_ID }),
    users({ form: NUMERIC_ID }),
    createsContacts(false),
  ],
  steps: [
    {
      ...findContact('call_ended'),
      url: `${OBJECTS}/contacts/search`,
      headers: HEADERS,
      body: `${NUMBER}${SEARCH}`,
      keep: {
        contact: '/results/0/id',
        first_name: '/results/0/properties/firstname',
        last_name: '/results/0/properties/lastname',
      },
      when: [...LIMITS, FINAL],
      source: `${DOCS}/guides/api/crm/search`,
      answer: FOUND,
    },
    ...ownedStep({
      ...createContact('call_ended'),
      url: `${OBJECTS}/contacts`,
      headers: HEADERS,
      body: (user) =>
        `${NUMBER}${user}{"properties":{"phone":{{ number }},"lastname":{{ caller }}{% if user %},"hubspot_owner_id":{{ user }}{% endif %}}}`,
      keep: { contact: '/id' },
      result: 'contact',
      refused: [USER_REFUSED],
      when: [...LIMITS, CONTACT_REFUSED, CONTACT_FORBIDDEN],
      source: `${DOCS}/guides/api/crm/objects/contacts`,
      answer: { status: 201, body: { id: '104901', properties: { phone: '+4930123456' } } },
    }),
    {
      // After the first call the property exists: 409.
      name: 'property',
      on: ['call_ended'],
      if: when(['number', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: '/crm/properties/2026-03/calls',
      headers: HEADERS,
      body: '{"groupName":"call","name":"hookswitch_call_id","label":"Hookswitch call id","type":"string","fieldType":"text","hasUniqueValue":true}',
      when: [...LIMITS, { status: [403, 409], then: 'done' }, FINAL],
      source: `${DOCS}/guides/api/crm/properties`,
      answer: { status: 201, body: { name: 'hookswitch_call_id', hasUniqueValue: true } },
    },
    ...ownedStep({
      // Not again when its delivery is sent once more: a person may have written in it.
      name: 'call',
      on: ['call_ended'],
      if: when(['number', 'kept.call == nil', IS_OUTSIDE, IS_WHOLE], NUMBER),
      url: `${OBJECTS}/calls/batch/upsert`,
      headers: HEADERS,
      body: (
        user,
      ) => `${NUMBER}${user}${TITLE}${FACTS}{%- capture status -%}${STATUS}{%- endcapture -%}{%- capture outcome -%}${OUTCOME}{%- endcapture -%}
{"inputs":[{"idProperty":"hookswitch_call_id","id":{{ data.call.id }},"properties":{"hs_timestamp":{{ data.call.started_at | local_time: "UTC", "%Y-%m-%dT%H:%M:%S.%LZ" }},"hs_call_title":{{ title }},"hs_call_body":{{ facts | escape | newline_to_br }},"hs_call_duration":"{{ data.call.talk_duration | default: 0 | times: 1000 }}","hs_call_direction":{{ data.call.direction | upcase }},"hs_call_from_number":"{{ data.call.from.e164 | default: data.call.from.number }}","hs_call_to_number":"{{ data.call.to.e164 | default: data.call.to.number }}","hs_call_status":{{ status }},"hs_call_disposition":{{ outcome }}{% if user %},"hubspot_owner_id":{{ user }}{% endif %}}}]}`,
      keep: { call: '/results/0/id' },
      result: 'call',
      refused: [USER_REFUSED, USER_PARTLY_REFUSED],
      when: [...LIMITS, PARTLY, FINAL],
      source: `${DOCS}/api-reference/latest/crm/objects/users/batch/upsert-users`,
      answer: {
        status: 200,
        body: { status: 'COMPLETE', results: [{ id: '17591596434', new: true, properties: {} }] },
      },
    }),
    {
      name: 'association',
      on: ['call_ended'],
      needs: ['call', 'contact'],
      method: 'PUT',
      url: `${OBJECTS}/call/{{ kept.call }}/associations/default/contact/{{ kept.contact }}`,
      headers: HEADERS,
      when: [...LIMITS, FINAL],
      source: `${DOCS}/api-reference/crm-associations-v202509/basic/put-crm-objects-2025-09-fromObjectType-fromObjectId-associations-default-toObjectType-toObjectId`,
      answer: { status: 200, body: { status: 'COMPLETE', results: [] } },
    },
    {
      name: 'recording',
      on: ['recording_saved'],
      // HubSpot refuses any other URL.
      if: `{%- assign scheme = data.recording.url | slice: 0, 8 -%}{% if scheme == "https://" %}yes{% endif %}`,
      needs: ['call'],
      method: 'PATCH',
      url: `${OBJECTS}/calls/{{ kept.call }}`,
      headers: HEADERS,
      body: '{"properties":{"hs_call_recording_url":{{ data.recording.url }}}}',
      when: [...LIMITS, FINAL],
      source: CALLS,
      answer: { status: 200, body: { id: '17591596434', properties: {} } },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  // The search allows 5 requests per second.
  maxPerSecond: 5,
  events: ['call_ended', 'recording_saved'],
  sources: [
    `${DOCS}/api-reference/2026-03/overview`,
    `${DOCS}/apps/developer-platform/build-apps/authentication/account-service-keys`,
    CALLS,
    `${DOCS}/guides/api/crm/search`,
    `${DOCS}/guides/api/crm/properties`,
    `${DOCS}/guides/apps/api-usage/usage-details`,
  ],
  lookup: {
    url: `${OBJECTS}/contacts/search`,
    headers: HEADERS,
    body: SEARCH,
    item: '/results/0',
    fields: { id: '/id', name: ['/properties/firstname', '/properties/lastname'], company: '/properties/company' },
    spellings: ['e164'],
    user: '/properties/hubspot_owner_id',
    source: `${DOCS}/guides/api/crm/search`,
    answer: FOUND,
  },
  directory: {
    method: 'GET',
    url: '/crm/v3/owners?limit=500',
    headers: HEADERS,
    items: '/results',
    id: '/id',
    name: ['/firstName', '/lastName'],
    logins: ['/email'],
    source: `${DOCS}/guides/api/crm/owners`,
    answer: {
      status: 200,
      body: { results: [{ id: '11349275740', firstName: 'Anna', lastName: 'Smith', email: 'anna@example.com' }] },
    },
  },
  check: {
    method: 'GET',
    url: '/account-info/v3/details',
    headers: HEADERS,
    source: `${DOCS}/guides/api/settings/account-information-api`,
    answer: { status: 200, body: { portalId: 62_515, timeZone: 'Europe/Berlin', uiDomain: 'app.hubspot.com' } },
  },
}
