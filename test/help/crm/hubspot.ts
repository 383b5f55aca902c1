import { at, type CrmAnswer, type CrmStub, type LoggedCall, refused, startCrmServer, timeOfDay } from './server.ts'

// https://developers.hubspot.com/docs: search, properties, batch upsert of calls, associations.

const OWNERS = [
  '11349275740',
  '11349275741',
  '11349275742',
  '11349275743',
  '11349275744',
  '11349275745',
  '11349275746',
  '11349275799',
]
const STATUSES = [
  'BUSY',
  'CALLING_CRM_USER',
  'CANCELED',
  'COMPLETED',
  'CONNECTING',
  'FAILED',
  'IN_PROGRESS',
  'NO_ANSWER',
  'QUEUED',
  'RINGING',
]
const OUTCOMES = [
  '9d9162e7-6cf3-4944-bf63-4dff82258764',
  'f240bbac-87c9-4f6e-bf70-924b57d47db7',
  'b2cf5968-551e-4856-9783-52b3da59a7d0',
  '73a0d17f-1163-4015-bdd5-ec830791da20',
]

const WRONG_KEY = {
  status: 'error',
  message: 'Authentication credentials not found. This API supports OAuth 2.0 authentication.',
  category: 'INVALID_AUTHENTICATION',
}

export function startHubspot(): CrmStub {
  type Call = Omit<LoggedCall, 'number' | 'recordings'> & {
    recording: string | undefined
    from: string
    to: string
    contact: string | undefined
  }
  const calls = new Map<string, Call>()
  const contacts = new Map([['104901', '+4930123456']])
  let hasProperty = false
  const server = startCrmServer(({ method, path, json, headers }) => {
    if (headers.get('authorization') !== 'Bearer pat-eu1') return refused(401, WRONG_KEY)
    const route = `${method} ${path}`
    if (route === 'GET /account-info/v3/details') return { status: 200, body: { portalId: 1 } }
    if (route === 'GET /crm/v3/owners')
      return { status: 200, body: { results: [{ id: OWNERS[0], firstName: 'Anna', lastName: 'Smith' }] } }
    if (route === 'POST /crm/objects/2026-03/contacts/search') return search(json)
    if (route === 'POST /crm/objects/2026-03/contacts') return newContact(at(json, 'properties'))
    if (route === 'POST /crm/properties/2026-03/calls') return newProperty(json)
    if (route === 'POST /crm/objects/2026-03/calls/batch/upsert') return upsert(at(json, 'inputs', 0))
    const [, call = '', contact = ''] =
      /^PUT \/crm\/objects\/2026-03\/call\/(\d+)\/associations\/default\/contact\/(\d+)$/.exec(route) ?? []
    const associated = [...calls.values()].find((_, index) => String(index + 1) === call)
    if (associated !== undefined) {
      if (!contacts.has(contact)) return invalid('contact')
      associated.contact = contact
      return { status: 200, body: { status: 'COMPLETE', results: [] } }
    }
    const [, id = ''] = /^PATCH \/crm\/objects\/2026-03\/calls\/(\d+)$/.exec(route) ?? []
    const patched = [...calls.values()].find((_, index) => String(index + 1) === id)
    const url = at(json, 'properties', 'hs_call_recording_url')
    if (patched === undefined) return refused(404, { status: 'error', category: 'OBJECT_NOT_FOUND' })
    if (typeof url !== 'string' || !url.startsWith('https://')) return invalid('hs_call_recording_url')
    patched.recording = url
    return { status: 200, body: { id } }
  })
  const invalid = (message: string): CrmAnswer =>
    refused(400, { status: 'error', category: 'VALIDATION_ERROR', message })

  const unknownOwner = (): CrmAnswer => ({
    status: 400,
    body: {
      status: 'error',
      category: 'VALIDATION_ERROR',
      message:
        'Property values were not valid: [{"isValid":false,"error":"INVALID_OWNER_ID","name":"hubspot_owner_id"}]',
    },
  })

  function search(json: unknown): CrmAnswer {
    const groups = at(json, 'filterGroups')
    if (!Array.isArray(groups) || groups.length === 0 || groups.length > 5) return invalid('filterGroups')
    const values = groups.map((group) => at(group, 'filters', 0, 'value'))
    // It would find every contact with a number.
    if (values.includes('*') || values.includes('')) return invalid('value')
    const found = [...contacts].find(([, number]) => values.includes(number))
    return {
      status: 200,
      body: {
        total: found === undefined ? 0 : 1,
        results:
          found === undefined
            ? []
            : [{ id: found[0], properties: { firstname: 'Maria', lastname: 'Bern', company: 'Bern & Co' } }],
      },
    }
  }
  function newContact(properties: unknown): CrmAnswer {
    const [phone, owner] = [at(properties, 'phone'), at(properties, 'hubspot_owner_id')]
    if (typeof phone !== 'string' || typeof at(properties, 'lastname') !== 'string') return invalid('phone')
    if (owner !== undefined && !OWNERS.some((one) => one === owner)) return unknownOwner()
    const id = String(104_902 + contacts.size)
    contacts.set(id, phone)
    return { status: 201, body: { id } }
  }
  function newProperty(json: unknown): CrmAnswer {
    if (at(json, 'hasUniqueValue') !== true || at(json, 'name') !== 'hookswitch_call_id') return invalid('name')
    if (hasProperty) return { status: 409, body: { status: 'error', category: 'CONFLICT', message: 'already exists' } }
    hasProperty = true
    return { status: 201, body: { name: 'hookswitch_call_id' } }
  }
  function upsert(input: unknown): CrmAnswer {
    const id = at(input, 'id')
    if (!hasProperty || at(input, 'idProperty') !== 'hookswitch_call_id' || typeof id !== 'string')
      return invalid('idProperty')
    const properties = at(input, 'properties')
    const text = (name: string): string => String(at(properties, name))
    if (Number.isNaN(Date.parse(text('hs_timestamp')))) return invalid('hs_timestamp')
    if (!/^\d+000$|^0$/.test(text('hs_call_duration'))) return invalid('hs_call_duration is in milliseconds')
    const direction = text('hs_call_direction')
    if (direction !== 'INBOUND' && direction !== 'OUTBOUND') return invalid('hs_call_direction')
    if (!STATUSES.includes(text('hs_call_status'))) return invalid('hs_call_status')
    if (!OUTCOMES.includes(text('hs_call_disposition'))) return invalid('hs_call_disposition')
    const owner = at(properties, 'hubspot_owner_id')
    if (owner !== undefined && !OWNERS.some((one) => one === owner)) return unknownOwner()
    const before = calls.get(id)
    calls.set(id, {
      id,
      direction: direction === 'INBOUND' ? 'inbound' : 'outbound',
      from: text('hs_call_from_number'),
      to: text('hs_call_to_number'),
      isAnswered: text('hs_call_status') === 'COMPLETED',
      user: owner === undefined ? null : String(owner),
      startedAt: timeOfDay(text('hs_timestamp')),
      seconds: Number(text('hs_call_duration')) / 1_000,
      recording: before?.recording,
      contact: before?.contact,
    })
    const number = [...calls.keys()].indexOf(id) + 1
    return { status: 200, body: { status: 'COMPLETE', results: [{ id: String(number), new: before === undefined }] } }
  }

  return {
    ...server,
    parameters: { token: 'pat-eu1', responsible: '11349275799', create: true },
    leftUser: '777',
    userAt: (index) => String(OWNERS[index % (OWNERS.length - 1)]),
    calls: () =>
      [...calls.values()].map(({ recording, from, to, contact, ...call }) => ({
        ...call,
        number: contact === undefined ? 'without contact' : call.direction === 'inbound' ? from : to,
        recordings: recording === undefined ? 0 : 1,
      })),
    recordingIs: 'address',
    limited: [{ status: 429, body: { status: 'error', errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' } }],
    wrongKey: [{ status: 401, body: WRONG_KEY }],
    passing: [
      { status: 502, body: 'Bad Gateway' },
      { status: 423, body: { status: 'error', category: 'LOCKED' } },
    ],
  }
}
