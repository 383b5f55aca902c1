import { at, type CrmAnswer, type CrmStub, type LoggedCall, refused, startCrmServer, timeOfDay } from './server.ts'

// https://developer.zendesk.com/api-reference/voice/talk-partner-edition-api/: tickets with a voice comment, display.

const AGENTS = [7, 8, 9, 10, 11, 12, 13, 99]

/** The token of the OAuth client `hookswitch`. */
const TOKEN = 'zd-access'
function grant(json: unknown): CrmAnswer {
  const isKnown = at(json, 'client_id') === 'hookswitch' && at(json, 'client_secret') === 'zd-secret {{ brace }}'
  if (at(json, 'grant_type') !== 'client_credentials' || at(json, 'scope') !== 'read write' || !isKnown)
    return { status: 401, body: { error: 'invalid_client', error_description: 'Client authentication failed' } }
  return { status: 200, body: { access_token: TOKEN, token_type: 'bearer', scope: 'read write', expires_in: null } }
}

/** A wrong token belongs to nobody. */
const ANONYMOUS: CrmAnswer = { status: 200, body: { user: { id: null, name: 'Anonymous user' } } }

const UNKNOWN_AGENT: CrmAnswer = {
  status: 422,
  body: {
    error: 'RecordInvalid',
    description: 'Record validation errors',
    details: { assignee: [{ description: 'Assignee: is invalid', error: 'InvalidValue' }] },
  },
}

export function startZendesk(): CrmStub {
  type Ticket = LoggedCall & { readonly ticketId: number; readonly externalId: string }
  let tickets: Ticket[] = []
  let made = 0
  const users = new Map([['maria', { id: 900, phone: '+4930123456', name: 'Maria Bern' }]])
  const shown = new Map<string, Set<string>>()
  const keys = new Map<string, unknown>()
  const basic = `Basic ${Buffer.from('anna@example.com/token:zd-token').toString('base64')}`
  const server = startCrmServer(({ method, path, json, headers, query }) => {
    if (method === 'POST' && path === '/oauth/tokens') return grant(json)
    if (headers.get('authorization') !== basic && headers.get('authorization') !== `Bearer ${TOKEN}`)
      return path === '/api/v2/users/me.json' ? ANONYMOUS : refused(401, { error: "Couldn't authenticate you" })
    const route = `${method} ${path}`
    if (route === 'GET /api/v2/users/me.json') return { status: 200, body: { user: { id: 7, name: 'Anna Smith' } } }
    if (route === 'GET /api/v2/users.json')
      return { status: 200, body: { users: [{ id: 7, name: 'Anna Smith', role: query.getAll('role[]')[0] }] } }
    if (route === 'GET /api/v2/users/search.json') {
      const [, phone] = /^phone:"([^"]+)"$/.exec(query.get('query') ?? '') ?? []
      if (phone === undefined) return refused(400, { error: 'query' })
      const found = [...users.values()].filter((user) => user.phone === phone)
      return { status: 200, body: { users: found, count: found.length } }
    }
    if (route === 'GET /api/v2/users/show_many.json') {
      const found = users.get(query.get('external_ids') ?? '')
      return { status: 200, body: { users: found === undefined ? [] : [found], count: found === undefined ? 0 : 1 } }
    }
    if (route === 'POST /api/v2/users.json') return createUser(at(json, 'user'))
    // A ticket without a voice comment says nothing of a recording.
    if (route === 'POST /api/v2/tickets.json')
      return createTicket(voiceOf(at(json, 'ticket')), headers.get('idempotency-key'))
    if (route === 'POST /api/v2/channels/voice/tickets.json')
      return createTicket(at(json, 'ticket'), headers.get('idempotency-key'))
    if (route === 'GET /api/v2/tickets.json') {
      const asked = query.get('external_id')
      if (asked === null || asked === '') return refused(400, { error: 'external_id' })
      const found = tickets.filter(({ externalId }) => externalId === asked)
      return { status: 200, body: { tickets: found.map(({ ticketId }) => ({ id: ticketId })), count: found.length } }
    }
    const [, deleted] = /^DELETE \/api\/v2\/tickets\/(\d+)\.json$/.exec(route) ?? []
    if (deleted !== undefined) {
      const before = tickets.length
      tickets = tickets.filter(({ ticketId }) => String(ticketId) !== deleted)
      return before === tickets.length ? { status: 404, body: { error: 'RecordNotFound' } } : { status: 204 }
    }
    const [, agent = '', user = ''] =
      /^POST \/api\/v2\/channels\/voice\/agents\/(\d+)\/users\/(\d+)\/display\.json$/.exec(route) ?? []
    const caller = [...users.values()].find(({ id }) => String(id) === user)
    if (!AGENTS.includes(Number(agent))) return { status: 404, body: { error: 'RecordNotFound' } }
    if (caller === undefined) return refused(404, { error: 'RecordNotFound' })
    shown.set(caller.phone, (shown.get(caller.phone) ?? new Set()).add(agent))
    return { status: 200 }
  })
  /** Returns a plain ticket of a missed call as the voice ticket that it replaces. */
  function voiceOf(ticket: unknown): unknown {
    const body = String(at(ticket, 'comment', 'body'))
    const [, number = ''] = /^Number: (.*)$/m.exec(body) ?? []
    const [, day = '', time = ''] = /^Began: (\S+) (\S+) UTC$/m.exec(body) ?? []
    if (typeof ticket !== 'object' || at(ticket, 'voice_comment') !== undefined) return undefined
    const comment = { from: number, call_duration: 0, started_at: `${day}T${time}Z` }
    return { ...ticket, via_id: 45, voice_comment: comment }
  }
  const invalid = (description: string): CrmAnswer => refused(422, { error: 'RecordInvalid', description })

  function createUser(user: unknown): CrmAnswer {
    const [externalId, phone] = [at(user, 'external_id'), at(user, 'phone')]
    if (typeof externalId !== 'string' || typeof phone !== 'string' || typeof at(user, 'name') !== 'string')
      return invalid('user')
    if (users.has(externalId)) return invalid('External has already been taken')
    const created = { id: 1_000 + users.size, phone, name: String(at(user, 'name')) }
    users.set(externalId, created)
    return { status: 201, body: { user: created } }
  }
  function createTicket(ticket: unknown, key: string | null): CrmAnswer {
    const comment = at(ticket, 'voice_comment')
    const [viaId, subject, id] = [at(ticket, 'via_id'), at(ticket, 'subject'), at(ticket, 'external_id')]
    if (key === null || key.length > 255) return invalid('Idempotency-Key')
    if (viaId !== 44 && viaId !== 45 && viaId !== 46) return invalid('via_id')
    if (typeof subject !== 'string' || subject.length > 150 || typeof id !== 'string') return invalid('subject')
    const assignee = at(ticket, 'assignee_id')
    const answerer = at(comment, 'answered_by_id')
    for (const agent of [assignee, ...(answerer === undefined ? [] : [answerer])])
      if (!AGENTS.some((one) => one === agent)) return UNKNOWN_AGENT
    // A key with another ticket than before is refused.
    if ((keys.get(key) ?? assignee) !== assignee) return refused(400, { error: 'IdempotencyKeyMismatch' })
    // Without a requester, the requester is the user of the token.
    const requesterId = at(ticket, 'requester_id')
    const requester = [...users.values()].find((user) => user.id === requesterId)
    if (requesterId !== undefined && requester === undefined) return invalid('requester_id')
    const [duration, started] = [at(comment, 'call_duration'), at(comment, 'started_at')]
    if (typeof duration !== 'number' || Number.isNaN(Date.parse(String(started)))) return invalid('voice_comment')
    const direction = viaId === 46 ? 'outbound' : 'inbound'
    const number = String(at(comment, direction === 'inbound' ? 'from' : 'to'))
    if (requester !== undefined && number !== requester.phone) return invalid('the requester is another caller')
    keys.set(key, assignee)
    made += 1
    // The key is documented for other tickets: here it prevents none.
    tickets.push({
      ticketId: made,
      externalId: id,
      id,
      direction,
      number,
      isAnswered: /Result: answered/.test(String(at(ticket, 'description'))),
      user: String(assignee),
      startedAt: timeOfDay(String(started)),
      seconds: duration,
      recordings: at(comment, 'recording_url') === undefined ? 0 : 1,
    })
    return { status: 201, body: { ticket: { id: made } } }
  }

  return {
    ...server,
    parameters: { email: 'anna@example.com', token: 'zd-token', responsible: '99', create: true },
    leftUser: '777',
    userAt: (index) => String(AGENTS[index % (AGENTS.length - 1)]),
    calls: () => tickets,
    shown: () => shown,
    showsBy: 'number',
    recordingIs: 'address',
    limited: [{ status: 429, headers: { 'retry-after': '36' }, body: { error: 'APIRateLimitExceeded' } }],
    wrongKey: [ANONYMOUS, { status: 401, body: { error: "Couldn't authenticate you" } }],
    passing: [
      { status: 503, body: { error: 'DatabaseConflict' } },
      { status: 409, body: { error: 'Conflict' } },
    ],
  }
}
