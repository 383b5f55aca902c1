import { at, type CrmAnswer, type CrmStub, type LoggedCall, refused, startCrmServer, timeOfDay } from './server.ts'

// https://www.amocrm.ru/developers/content/crm_platform/: calls, incoming leads, and telephony/call_event.

const USERS = [504_141, 504_142, 504_143, 504_144, 504_145, 504_146, 504_147, 504_148, 504_149, 504_150]

/** `hasCard`: which numbers have a card; the others become incoming leads. */
export function startAmocrm(hasCard: (number: string) => boolean = (number) => number.length % 2 === 0): CrmStub {
  const calls = new Map<string, LoggedCall>()
  const shown = new Map<string, Set<string>>()
  const server = startCrmServer(({ method, path, json, headers, query }) => {
    if (headers.get('authorization') !== 'Bearer long-lived')
      return refused(401, { title: 'Unauthorized', status: 401 })
    if (method === 'GET' && path === '/api/v4/account')
      return { status: 200, body: { id: 1, name: 'Example', current_user_id: USERS[0] } }
    if (method === 'GET' && path === '/api/v4/users')
      return { status: 200, body: { _embedded: { users: [{ id: USERS[0], name: 'Anna Smith' }] } } }
    if (method === 'GET' && path === '/api/v4/contacts')
      return query.get('query') === '+4930123456'
        ? { status: 200, body: { _embedded: { contacts: [{ id: 45_687, name: 'Maria Bern' }] } } }
        : { status: 204 }
    if (method !== 'POST') return refused(405, {})
    if (path === '/api/v2/events') return event(at(json, 'add', 0))
    if (path === '/api/v4/calls') return call(at(json, 0))
    if (path === '/api/v4/leads/unsorted/sip') return incomingLead(at(json, 0))
    return refused(404, {})
  })
  const invalid = (path: string): CrmAnswer =>
    refused(400, {
      'validation-errors': [{ request_id: '0', errors: [{ code: 'FieldMissing', path }] }],
      title: 'Bad Request',
      status: 400,
    })

  const unknownUser = (path: string): CrmAnswer => ({
    status: 400,
    body: {
      'validation-errors': [
        {
          request_id: '0',
          errors: [{ code: 'NotSupportedChoice', path, detail: 'The value you selected is not a valid choice.' }],
        },
      ],
      title: 'Bad Request',
      type: 'https://httpstatus.es/400',
      status: 400,
      detail: 'Request validation failed',
    },
  })

  function event(one: unknown): CrmAnswer {
    const users = at(one, 'users')
    const number = at(one, 'phone_number')
    if (at(one, 'type') !== 'phone_call' || typeof number !== 'string' || !Array.isArray(users)) return invalid('add.0')
    if (!users.every((user) => USERS.includes(Number(user)))) return unknownUser('add.0.users')
    const seen = shown.get(number) ?? new Set()
    for (const user of users) seen.add(String(user))
    shown.set(number, seen)
    return { status: 200, body: { _embedded: { items: [{ phone_number: number }] } } }
  }

  function call(one: unknown): CrmAnswer {
    const [uniq, direction, number] = [at(one, 'uniq'), at(one, 'direction'), at(one, 'phone')]
    const [duration, status, user] = [at(one, 'duration'), at(one, 'call_status'), at(one, 'responsible_user_id')]
    if (direction !== 'inbound' && direction !== 'outbound') return invalid('direction')
    if (typeof duration !== 'number' || typeof at(one, 'source') !== 'string') return invalid('duration')
    if (typeof uniq !== 'string' || typeof number !== 'string') return invalid('uniq')
    if (typeof status !== 'number' || status < 1 || status > 7) return invalid('call_status')
    if (user !== undefined && !USERS.some((one) => one === user)) return unknownUser('responsible_user_id')
    if (!hasCard(number))
      return {
        status: 400,
        body: {
          _total_items: 0,
          errors: [{ request_id: '0', title: 'Entity not found', status: 263, detail: 'Entity not found' }],
          _embedded: { calls: [] },
        },
      }
    const created = at(one, 'created_at')
    if (typeof created !== 'number') return invalid('created_at')
    log(uniq, { direction, number, isAnswered: status === 4, user, created, duration, link: at(one, 'link') })
    return {
      status: 200,
      body: {
        _total_items: 1,
        errors: [],
        _embedded: { calls: [{ id: calls.size, entity_id: 1, entity_type: 'contact', request_id: '0' }] },
      },
    }
  }

  function incomingLead(one: unknown): CrmAnswer {
    const metadata = at(one, 'metadata')
    const [uniq, number, duration] = [at(metadata, 'uniq'), at(metadata, 'from'), at(metadata, 'duration')]
    for (const name of ['source_name', 'source_uid']) if (typeof at(one, name) !== 'string') return invalid(name)
    if (typeof uniq !== 'string' || typeof number !== 'string' || typeof duration !== 'number')
      return invalid('metadata')
    if (typeof at(one, '_embedded', 'leads', 0, 'name') !== 'string') return invalid('_embedded.leads')
    if (typeof at(metadata, 'service_code') !== 'string' || typeof at(metadata, 'phone') !== 'string')
      return invalid('metadata.phone')
    const responsible = at(metadata, 'call_responsible')
    if (responsible !== undefined && !USERS.some((one) => one === responsible))
      return unknownUser('metadata.call_responsible')
    const created = at(metadata, 'called_at')
    if (typeof created !== 'number') return invalid('metadata.called_at')
    if (at(one, '_embedded', 'contacts', 0, 'custom_fields_values', 0, 'values', 0, 'value') !== number)
      return invalid('_embedded')
    log(uniq, {
      direction: 'inbound',
      number,
      isAnswered: duration > 0,
      user: at(metadata, 'call_responsible'),
      created,
      duration,
      link: at(metadata, 'link'),
    })
    return { status: 200, body: { _total_items: 1, _embedded: { unsorted: [{ uid: uniq, request_id: '0' }] } } }
  }

  type Facts = {
    direction: 'inbound' | 'outbound'
    number: string
    isAnswered: boolean
    user: unknown
    created: number
    duration: number
    link: unknown
  }
  function log(id: string, { direction, number, isAnswered, user, created, duration, link }: Facts): void {
    calls.set(id, {
      id,
      direction,
      number,
      isAnswered,
      user: String(user),
      startedAt: timeOfDay(created * 1_000),
      seconds: duration,
      recordings: link === undefined ? 0 : 1,
    })
  }

  return {
    ...server,
    parameters: { token: 'long-lived', responsible: '504150', create: true },
    leftUser: '777',
    userAt: (index) => String(USERS[index % (USERS.length - 1)]),
    calls: () => [...calls.values()],
    shown: () => shown,
    showsBy: 'number',
    // An outgoing call to a number without a card has no place in amoCRM.
    logs: ({ direction, number }) => direction === 'inbound' || hasCard(number),
    // An incoming lead does not show whether somebody answered.
    knowsAnswer: false,
    recordingIs: 'address',
    limited: [
      { status: 429, body: '' },
      { status: 403, body: '' },
    ],
    wrongKey: [{ status: 401, body: { title: 'Unauthorized', status: 401 } }],
    passing: [{ status: 504, body: 'Gateway Time-out' }],
  }
}
