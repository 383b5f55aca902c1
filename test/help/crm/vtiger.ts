import { at, type CrmAnswer, type CrmStub, refused, startCrmServer } from './server.ts'

// https://help.vtiger.com/article/147111249-Rest-API-Manual: forms with JSON inside, composite ids, errors in the body.

const USERS = ['19x1', '19x2', '19x3', '19x4', '19x5', '19x6', '19x99']
const fault = (code: string, message: string): CrmAnswer => refused(400, { success: false, error: { code, message } })

const WRONG_KEY = {
  status: 401,
  body: { success: false, error: { code: 'AUTHENTICATION_FAILURE', message: 'Authentication failed' } },
}

export function startVtiger(): CrmStub {
  type Row = { id: string; element: unknown }
  let events: Row[] = []
  const contacts: string[] = ['+4930123456']
  let made = 0
  const base = '/restapi/v1/vtiger/default/'
  const basic = `Basic ${Buffer.from('admin:vt-key').toString('base64')}`
  const server = startCrmServer(({ method, path, text, headers, query }) => {
    if (headers.get('authorization') !== basic) return refused(WRONG_KEY.status, WRONG_KEY.body)
    const operation = path.startsWith(base) ? `${method} ${path.slice(base.length)}` : ''
    const form = new URLSearchParams(text)
    if (method === 'POST' && headers.get('content-type') !== 'application/x-www-form-urlencoded')
      return fault('INVALID_TYPE', 'a form')
    if (operation === 'GET me') return result({ id: '19x1', user_name: 'admin' })
    if (operation === 'GET lookup') {
      if (query.get('type') !== 'phone' || query.get('searchIn') !== '{"Contacts":["mobile","phone"]}')
        return fault('INVALID_QUERY', 'lookup')
      const found = contacts.indexOf(query.get('value') ?? '')
      return result(found < 0 ? [] : [{ id: `12x${found + 1}`, firstname: 'Maria', lastname: 'Bern' }])
    }
    if (operation === 'GET query') {
      const asked = query.get('query') ?? ''
      if (/^select id,first_name,last_name from Users;$/.test(asked))
        return result([{ id: '19x1', first_name: 'Anna', last_name: 'Smith' }])
      const [, wanted] =
        /^select id from Events where description like '%([\w+-]+)%' order by id limit 5;$/.exec(asked) ?? []
      if (wanted === undefined) return fault('QUERY_SYNTAX_ERROR', asked)
      return result(
        events
          .filter(({ element }) => String(at(element, 'description')).includes(wanted))
          .slice(0, 2)
          .map(({ id }) => ({ id })),
      )
    }
    if (operation === 'POST create') return create(form.get('elementType'), form.get('element'))
    if (operation === 'POST delete') {
      const before = events.length
      events = events.filter(({ id }) => id !== form.get('id'))
      return before === events.length
        ? { status: 400, body: { success: false, error: { code: 'RECORD_NOT_FOUND' } } }
        : result({ status: 'successful' })
    }
    return fault('UNKNOWN_OPERATION', operation)
  })

  function create(type: string | null, json: string | null): CrmAnswer {
    const element: unknown = JSON.parse(json ?? 'null')
    const text = (name: string): string => String(at(element, name) ?? '')
    if (!USERS.includes(text('assigned_user_id'))) return fault('ACCESS_DENIED', 'assigned_user_id')
    if (type === 'Contacts') {
      if (text('lastname') === '' || text('phone') === '') return fault('MANDATORY_FIELDS_MISSING', 'lastname')
      contacts.push(text('phone'))
      return result({ id: `12x${contacts.length}` })
    }
    if (type !== 'Events') return fault('ACCESS_DENIED', 'module')
    for (const name of [
      'subject',
      'date_start',
      'time_start',
      'due_date',
      'time_end',
      'activitytype',
      'eventstatus',
      'duration_hours',
    ])
      if (text(name) === '') return fault('MANDATORY_FIELDS_MISSING', name)
    if (!/^\d{4}-\d\d-\d\d$/.test(text('date_start')) || !/^\d\d:\d\d:\d\d$/.test(text('time_start')))
      return fault('INVALID_DATA', 'date_start')
    made += 1
    events.push({ id: `18x${made}`, element })
    return result({ id: `18x${made}` })
  }

  return {
    ...server,
    url: `${server.url}${base}`,
    parameters: { username: 'admin', key: 'vt-key', responsible: '19x99', create: true },
    leftUser: '19x77',
    userAt: (index) => USERS[index % (USERS.length - 1)] ?? '',
    calls: () =>
      events.map(({ element }) => {
        const description = String(at(element, 'description'))
        return {
          id: /Call: ([\w+-]+)/.exec(description)?.[1] ?? '',
          direction: /^Outgoing/.test(String(at(element, 'subject'))) ? 'outbound' : 'inbound',
          number: contacts[Number(String(at(element, 'contact_id')).slice(3)) - 1] ?? 'no contact',
          isAnswered: at(element, 'eventstatus') === 'Held',
          user: String(at(element, 'assigned_user_id')),
          startedAt: String(at(element, 'time_start')),
          seconds: Number(/talk (\d+) s/.exec(description)?.[1]),
          recordings: [...description.matchAll(/^Recording: https/gm)].length,
        }
      }),
    recordingIs: 'address',
    limited: [{ status: 429, body: '' }],
    wrongKey: [WRONG_KEY, { ...WRONG_KEY, status: 200 }],
    passing: [{ status: 500, body: '' }],
  }
}

const result = (value: unknown): CrmAnswer => ({ status: 200, body: { success: true, result: value } })
