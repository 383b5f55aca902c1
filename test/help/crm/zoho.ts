import { at, type CrmAnswer, type CrmStub, type LoggedCall, refused, startCrmServer, timeOfDay } from './server.ts'

// https://www.zoho.com/crm/developer/docs/api/v8/ and "Kaizen 38: Calls API": required keys, formats, errors in `data`.

const USERS = [
  '554023000000235011',
  '554023000000235012',
  '554023000000235013',
  '554023000000235014',
  '554023000000235099',
]
const TOKEN = 'Zoho-oauthtoken 1000.access'
const fault = (code: string, key: string): CrmAnswer =>
  refused(400, { data: [{ code, status: 'error', message: 'invalid data', details: { api_name: key } }] })

export function startZoho(): CrmStub {
  let calls: (LoggedCall & { readonly recordId: string; readonly contact: string; readonly description: string })[] = []
  let made = 0
  const contacts: string[] = ['+4930123456']
  const server = startCrmServer(({ method, path, json, headers, query: asked }) => {
    if (headers.get('authorization') !== TOKEN)
      return refused(401, { code: 'INVALID_TOKEN', status: 'error', message: 'invalid oauth token' })
    const route = `${method} ${path}`
    if (route === 'GET /crm/v8/users')
      return { status: 200, body: { users: [{ id: USERS[0], full_name: 'Anna Smith' }] } }
    if (route === 'GET /crm/v8/Contacts/search') {
      const found = contacts.indexOf(asked.get('phone') ?? '')
      return found < 0
        ? { status: 204 }
        : { status: 200, body: { data: [{ id: String(found + 1), Full_Name: 'Maria Bern' }] } }
    }
    if (route === 'POST /crm/v8/coql') return query(String(at(json, 'select_query')))
    const [, deleted] = /^DELETE \/crm\/v8\/Calls\/(\d+)$/.exec(route) ?? []
    if (deleted !== undefined) {
      calls = calls.filter(({ recordId }) => recordId !== deleted)
      return { status: 200, body: { data: [{ code: 'SUCCESS', status: 'success', details: { id: deleted } }] } }
    }
    const [, read] = /^GET \/crm\/v8\/Calls\/(\d+)$/.exec(route) ?? []
    if (read !== undefined) {
      const found = calls.find(({ recordId }) => recordId === read)
      return found === undefined
        ? { status: 204 }
        : { status: 200, body: { data: [{ id: read, Description: found.description }] } }
    }
    const record = at(json, 'data', 0)
    const owner = at(record, 'Owner', 'id')
    if (owner !== undefined && !USERS.some((user) => user === owner)) return fault('INVALID_DATA', 'Owner')
    if (route === 'POST /crm/v8/Contacts') {
      const phone = at(record, 'Phone')
      if (typeof at(record, 'Last_Name') !== 'string' || typeof phone !== 'string')
        return fault('MANDATORY_NOT_FOUND', 'Last_Name')
      contacts.push(phone)
      return created(contacts.length)
    }
    return route === 'POST /crm/v8/Calls' ? newCall(record, owner) : refused(404, { code: 'INVALID_URL_PATTERN' })
  })

  /** One pair of conditions, in brackets, as COQL takes them. */
  function query(select: string): CrmAnswer {
    const pattern =
      /^select id from Calls where \(Who_Id = '(\d+)' and Call_Start_Time = '\d{4}-\d\d-\d\dT([\d:]{8})\+00:00'\) order by id asc limit 5$/
    const [, contact, start] = pattern.exec(select) ?? []
    if (contact === undefined) return refused(400, { code: 'SYNTAX_ERROR', status: 'error', message: 'select_query' })
    const found = calls.filter((call) => call.contact === contact && call.startedAt === start).slice(0, 5)
    return found.length === 0
      ? { status: 204 }
      : { status: 200, body: { data: found.map(({ recordId }) => ({ id: recordId })), info: { count: found.length } } }
  }

  function newCall(record: unknown, owner: unknown): CrmAnswer {
    const text = (name: string): string => String(at(record, name) ?? '')
    const type = text('Call_Type')
    if (!['Inbound', 'Outbound', 'Missed'].includes(type)) return fault('INVALID_DATA', 'Call_Type')
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/.test(text('Call_Start_Time')))
      return fault('INVALID_DATA', 'Call_Start_Time')
    if (text('Subject') === '') return fault('MANDATORY_NOT_FOUND', 'Subject')
    const [, minutes, seconds] = /^(\d\d+):([0-5]\d)$/.exec(text('Call_Duration')) ?? []
    if (type !== 'Missed' && minutes === undefined) return fault('INVALID_DATA', 'Call_Duration')
    const description = text('Description')
    made += 1
    calls.push({
      recordId: String(made),
      contact: String(at(record, 'Who_Id', 'id')),
      description,
      id: /Call: ([\w+-]+)/.exec(description)?.[1] ?? '',
      direction: type === 'Outbound' ? 'outbound' : 'inbound',
      number: contacts[Number(at(record, 'Who_Id', 'id')) - 1] ?? 'no contact',
      isAnswered: /Result: answered/.test(description),
      user: String(owner),
      startedAt: timeOfDay(text('Call_Start_Time')),
      seconds: Number(minutes ?? 0) * 60 + Number(seconds ?? 0),
      recordings: [...description.matchAll(/^Recording: https/gm)].length,
    })
    return created(made)
  }

  return {
    ...server,
    parameters: {
      region: 'eu',
      client_id: '1000.A',
      client_secret: 'zoho-secret',
      refresh_token: '1000.refresh',
      responsible: USERS.at(-1),
      create: true,
    },
    authorization: TOKEN,
    leftUser: '777',
    userAt: (index) => USERS[index % (USERS.length - 1)] ?? '',
    calls: () => calls,
    recordingIs: 'address',
    limited: [{ status: 429, body: { code: 'TOO_MANY_REQUESTS', status: 'error' } }],
    expired: { status: 401, body: { code: 'INVALID_TOKEN', status: 'error', message: 'invalid oauth token' } },
    wrongKey: [{ status: 401, body: { code: 'INVALID_TOKEN', status: 'error', message: 'invalid oauth token' } }],
    passing: [{ status: 500, body: { code: 'INTERNAL_ERROR', status: 'error' } }],
  }
}

const created = (id: number): CrmAnswer => ({
  status: 201,
  body: { data: [{ code: 'SUCCESS', status: 'success', details: { id: String(id) } }] },
})
