import { at, type CrmAnswer, type CrmStub, refused, startCrmServer } from './server.ts'

// https://developers.pipedrive.com/docs/api/v1/CallLogs and Persons: required fields, formats, outcomes.

const UNKNOWN_USER: CrmAnswer = { status: 400, body: { success: false, error: 'User not found', data: null } }

const USERS = [7, 8, 9, 10, 11, 12, 13, 99]
const OUTCOMES = ['connected', 'no_answer', 'left_message', 'left_voicemail', 'wrong_number', 'busy']
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/

/** `ours`: the company's numbers, which show the direction of a call log. */
export function startPipedrive(): CrmStub {
  type Log = {
    from: string
    to: string
    outcome: string
    user: string | null
    seconds: number
    recordings: number
    subject: string
    note: string
    start: string
    person: unknown
  }
  const logs: Log[] = []
  const persons: string[] = ['+4930123456']
  const server = startCrmServer(({ method, path, json, headers, query, form }) => {
    if (headers.get('x-api-token') !== 'pd-token') return refused(401, { success: false, error: 'unauthorized access' })
    const route = `${method} ${path}`
    if (route === 'GET /api/v1/users/me') return data({ id: 7, name: 'Anna Smith' })
    if (route === 'GET /api/v1/users') return data([{ id: 7, name: 'Anna Smith' }])
    if (route === 'GET /api/v2/persons/search') {
      const term = query.get('term') ?? ''
      if (term.length < 1 || query.get('exact_match') !== 'true') return refused(400, { success: false, error: 'term' })
      const found = persons.indexOf(term)
      return data({ items: found < 0 ? [] : [{ item: { id: found + 1, name: 'Maria Bern' } }] })
    }
    if (route === 'POST /api/v2/persons') {
      const phone = at(json, 'phones', 0, 'value')
      if (typeof at(json, 'name') !== 'string' || typeof phone !== 'string')
        return refused(400, { success: false, error: 'name' })
      if (!isUser(at(json, 'owner_id'))) return UNKNOWN_USER
      persons.push(phone)
      return data({ id: persons.length }, 201)
    }
    if (route === 'POST /api/v1/callLogs') return newLog(json)
    const [, log] = /^POST \/api\/v1\/callLogs\/CA(\d+)\/recordings$/.exec(route) ?? []
    const known = logs[Number(log) - 1]
    if (known === undefined) return refused(404, { success: false, error: 'not found' })
    if (!(form?.get('file') instanceof Blob)) return refused(400, { success: false, error: 'file' })
    known.recordings = 1
    return data(undefined)
  })
  const isUser = (id: unknown): boolean => id === undefined || USERS.some((user) => user === id)

  function newLog(json: unknown): CrmAnswer {
    const text = (name: string): string => String(at(json, name) ?? '')
    const invalid = (error: string): CrmAnswer => refused(400, { success: false, error })
    if (!OUTCOMES.includes(text('outcome'))) return invalid('outcome')
    if (text('to_phone_number') === '') return invalid('to_phone_number')
    if (!TIME.test(text('start_time')) || !TIME.test(text('end_time'))) return invalid('start_time')
    if (text('end_time') < text('start_time')) return invalid('end_time')
    if (typeof at(json, 'duration') !== 'string') return invalid('duration is a string')
    if (!isUser(at(json, 'user_id'))) return UNKNOWN_USER
    const user = at(json, 'user_id')
    logs.push({
      from: text('from_phone_number'),
      to: text('to_phone_number'),
      outcome: text('outcome'),
      user: user === undefined ? null : String(user),
      seconds: Number(text('duration')),
      recordings: 0,
      subject: text('subject'),
      note: text('note'),
      start: text('start_time'),
      person: at(json, 'person_id'),
    })
    return data({ id: `CA${logs.length}`, activity_id: logs.length })
  }

  return {
    ...server,
    parameters: { token: 'pd-token', responsible: '99', create: true },
    leftUser: '777',
    userAt: (index) => String(USERS[index % (USERS.length - 1)]),
    calls: () =>
      logs.map(({ from, to, outcome, user, seconds, recordings, subject, note, start, person }) => {
        const direction = subject.startsWith('Outgoing') ? ('outbound' as const) : ('inbound' as const)
        const number = direction === 'inbound' ? from : to
        const isRight = typeof person === 'number' && persons[person - 1] === number
        return {
          id: /Call: ([\w+-]+)/.exec(note)?.[1] ?? '',
          direction,
          number: isRight ? number : 'no person',
          isAnswered: outcome === 'connected',
          user,
          startedAt: start.slice(11),
          seconds,
          recordings,
        }
      }),
    repeats: 'unknown',
    limited: [
      { status: 429, body: { success: false, error: 'request over limit' } },
      { status: 403, body: '<html>Cloudflare</html>' },
    ],
    wrongKey: [{ status: 401, body: { success: false, error: 'unauthorized access' } }],
    passing: [{ status: 500, body: { success: false } }],
  }
}

const data = (value: unknown, status = 200): CrmAnswer => ({ status, body: { success: true, data: value } })
