/**
 * Fragments of Liquid that presets share. Each assigns variables and writes nothing; white space around a tag is
 * trimmed, so that fragments can stand before a URL.
 */

const assign = (name: string, value: string): string => `{%- assign ${name} = ${value} -%}`

/** The most characters of a name in a subject or a contact: CRMs refuse long ones, some from 80 characters on. */
const MAX_NAME = 60

/**
 * `number`: the number outside the PBX, `nil` for an anonymous caller; `outside`: its party; `caller`: its name,
 * shortened, or its number. The name is the one of the contact that was found, else the one that the PBX shows.
 */
export const NUMBER = [
  assign('outside', 'data.call.from'),
  `{%- if data.call.direction == "outbound" -%}${assign('outside', 'data.call.to')}{%- endif -%}`,
  assign('number', 'outside.e164 | default: outside.number'),
  '{%- capture known_as -%}{{ kept.contact_name }}{{ kept.first_name }} {{ kept.last_name }}{%- endcapture -%}',
  assign('known_as', 'known_as | strip | default: outside.contact.name | default: outside.name'),
  assign('caller', `known_as | default: number | truncate: ${MAX_NAME}`),
].join('')

/**
 * `extension`: the owner of the call, the last party that handled it; for an unanswered outbound call, the caller.
 * `user`: the CRM user of that extension; for a missed call, of the first tried extension that has one; else
 * `parameters.responsible`.
 */
export const OWNER = [
  assign('owner', 'data.call.handled_by | last'),
  assign('extension', 'owner.extension'),
  `{%- if extension == nil and data.call.direction == "outbound" -%}${assign('extension', 'data.call.from.extension')}{%- endif -%}`,
  assign('user', 'extension | map: parameters.users'),
  `{%- if extension == nil -%}${assign('user', 'data.call.missed_by | map: "extension" | map: parameters.users | compact | first')}{%- endif -%}`,
  assign('user', 'user | default: parameters.responsible'),
].join('')

/** `user`: the responsible user, in place of an owner whom the CRM refuses. */
export const RESPONSIBLE = assign('user', 'parameters.responsible')

/** `user`: the CRM user of this event's phone; `nil` if it has none. */
export const PHONE_USER = assign('user', 'data.stage.target | map: parameters.users')

/** `title`: the call in a line. It needs `number`. */
export const TITLE = `{%- capture title -%}
{%- if data.call.direction == "outbound" -%}Outgoing call to{%- elsif data.call.missed -%}Missed call from{%- else -%}Incoming call from{%- endif %} {{ caller | default: "an anonymous caller" }}
{%- endcapture -%}`

/** `facts`: the call in several lines. It needs `number`. */
export const FACTS = `{%- capture facts -%}
Number: {{ number | default: "anonymous" }}
{%- if outside.name and outside.name != number %}
Name: {{ outside.name }}{% endif %}
Result: {{ data.call.result | replace: "_", " " }}
{%- if data.call.answered_by %}
Answered by: {{ data.call.answered_by.name | default: data.call.answered_by.extension | default: data.call.answered_by.number }}{% endif %}
{%- if data.call.handled_by.size > 1 %}
Handled by: {% for one in data.call.handled_by %}{{ one.name | default: one.extension | default: one.number }}{% unless forloop.last %}, {% endunless %}{% endfor %}{% endif %}
{%- if data.call.missed_by.size > 0 %}
Missed by: {% for one in data.call.missed_by %}{{ one.name | default: one.extension }}{% unless forloop.last %}, {% endunless %}{% endfor %}{% endif %}
{%- if data.call.queue %}
Queue: {{ data.call.queue.name }}{% endif %}
{%- if data.call.did %}
Called number: {{ data.call.did }}{% endif %}
Duration: {{ data.call.duration | default: 0 }} s, talk {{ data.call.talk_duration | default: 0 }} s
Call: {{ data.call.id }}
{%- endcapture -%}`

/** Returns an `if` that is true when every condition is. `before` assigns the variables that they need. */
export const when = (conditions: readonly string[], before = ''): string =>
  `${before}{%- if ${conditions.join(' and ')} -%}yes{%- endif -%}`

/** A call with a party outside the PBX. CRMs do not track calls among colleagues. */
export const IS_OUTSIDE = 'data.call.direction != "internal"'
/** A call that was not merged into another one, which reports it instead. */
export const IS_WHOLE = 'data.call.merged_into == nil'
/** A colleague's phone, not a group, a queue or an outside number. */
export const IS_PHONE = 'data.stage.kind == "user"'
