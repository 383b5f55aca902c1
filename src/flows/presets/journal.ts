import type { Preset } from '../preset.ts'
import { NUMBER, OWNER } from './liquid.ts'
import { responsible, users } from './parameters.ts'

/** The names of the fields, and the Liquid expression of each. */
const FIELDS: Readonly<Record<string, string>> = {
  call_id: 'data.call.id',
  direction: 'data.call.direction',
  number: 'number',
  name: 'outside.name',
  from: 'data.call.from.number',
  to: 'data.call.to.number',
  called_number: 'data.call.did',
  queue: 'data.call.queue.name',
  result: 'data.call.result',
  missed: 'data.call.missed',
  started_at: 'data.call.started_at',
  answered_at: 'data.call.answered_at',
  ended_at: 'data.call.ended_at',
  duration: 'data.call.duration',
  wait_duration: 'data.call.wait_duration',
  talk_duration: 'data.call.talk_duration',
  answered_by: 'data.call.answered_by.extension',
  owner: 'extension',
  owner_user: 'user',
  missed_by: 'missed_by',
  transfers: 'data.call.transfers',
  recording_url: 'data.recordings[0].url',
}
const BEFORE = `${NUMBER}${OWNER}{%- assign missed_by = data.call.missed_by | map: "extension" | join: "," -%}`
const JSON_BODY = `${BEFORE}{${Object.entries(FIELDS)
  .map(([name, value]) => `"${name}":{{ ${value} }}`)
  .join(',')}}`
const FORM_BODY =
  BEFORE +
  Object.entries(FIELDS)
    .map(([name, value]) => `${name}={{ ${value} }}`)
    .join('&')

const SOURCE = 'https://www.standardwebhooks.com/'
const isWanted = (format: string): string =>
  `{%- if parameters.format == "${format}" and data.call.merged_into == nil -%}{%- if data.call.direction != "internal" or parameters.internal -%}yes{%- endif -%}{%- endif -%}`

/** One request for each call, for systems that take a call by a form or a URL. */
export const JOURNAL: Preset = {
  name: 'journal',
  title: 'Any system: one request for each call',
  parameters: [
    {
      name: 'format',
      title: 'Format',
      help: 'How the fields are sent',
      type: 'choice',
      required: false,
      default: 'json',
      choices: [
        { value: 'json', title: 'JSON' },
        { value: 'form', title: 'Form (application/x-www-form-urlencoded)' },
      ],
    },
    {
      name: 'internal',
      title: 'Internal calls too',
      help: 'Also send calls between two extensions',
      type: 'boolean',
      required: false,
      default: false,
    },
    users(),
    responsible('The name or number'),
  ],
  steps: [
    {
      name: 'call_as_json',
      on: ['call_saved'],
      if: isWanted('json'),
      body: JSON_BODY,
      source: SOURCE,
      answer: { status: 200, body: null },
    },
    {
      name: 'call_as_form',
      on: ['call_saved'],
      if: isWanted('form'),
      content_type: 'application/x-www-form-urlencoded',
      body: FORM_BODY,
      source: SOURCE,
      answer: { status: 200, body: null },
    },
  ],
  origins: [],
  authorization: () => null,
  parallel: 4,
  maxPerSecond: null,
  events: ['call_saved'],
  sources: [SOURCE],
  lookup: null,
  directory: null,
  check: null,
}
