import { createHash } from 'node:crypto'
import { at, type CrmAnswer, type CrmStub, refused, startCrmServer } from './server.ts'

// Made after a driven Vtiger 8.2.0: webservice.php, whose answers have the status 200; one challenge for a user; a
// session stands in each request.

const KEY = 'vtiger-key'
const USERS = ['19x5', '19x6', '19x7', '19x1']
const result = (value: unknown): CrmAnswer => ({ status: 200, body: { success: true, result: value } })
const fault = (code: string): CrmAnswer => ({ status: 200, body: { success: false, error: { code } } })

const CONTACTS = /^select id from Contacts where phone = '[^'\\]*'( or \w+ = '[^'\\]*')* order by id limit 1;$/
const TASK_OF_CALL = /^select id from Calendar where description like '%([\w-]+)%' order by id limit 1;$/
const OPEN_TASKS =
  /^select id from Calendar where taskstatus = 'Not Started' and description like '%(Number: [^'\\]*, call: )%' order by id limit 3;$/

export function startVtigerOwn() {
  const contacts: string[] = ['']
  const events: unknown[] = []
  const tasks: unknown[] = []
  let challenge = ''
  let logins = 0
  const sessions = new Set<string>()
  const server = startCrmServer(({ method, path, query, text }) => {
    if (path !== '/webservice.php') return refused(404, path)
    const given = method === 'GET' ? query : new URLSearchParams(text)
    const operation = given.get('operation')
    if (operation === 'getchallenge') {
      challenge = `challenge-${crypto.randomUUID()}`
      return result({ token: challenge })
    }
    if (operation === 'login') {
      if (given.get('accessKey') !== createHash('md5').update(`${challenge}${KEY}`).digest('hex'))
        return fault('INVALID_USER_CREDENTIALS')
      logins += 1
      sessions.add(`session-${logins}`)
      return result({ sessionName: `session-${logins}`, userId: '19x1' })
    }
    if (!sessions.has(given.get('sessionName') ?? '')) return fault('INVALID_SESSIONID')
    if (operation === 'query') return found(given.get('query') ?? '')
    if (operation === 'create') return created(given.get('elementType'), JSON.parse(given.get('element') ?? 'null'))
    if (operation === 'revise') return revised(JSON.parse(given.get('element') ?? 'null'))
    return refused(400, operation)
  })

  function found(query: string): CrmAnswer {
    const call = /^select id from Events where description like '%([\w+-]+)%' order by id limit 1;$/.exec(query)
    if (call !== null) {
      const index = events.findIndex((one) => String(at(one, 'description')).includes(call[1] ?? ''))
      return result(index < 0 ? [] : [{ id: `9x${index + 1}` }])
    }
    const task = TASK_OF_CALL.exec(query)?.[1] ?? OPEN_TASKS.exec(query)?.[1]
    if (task !== undefined) {
      const ids = tasks.flatMap((one, index) =>
        String(at(one, 'description')).includes(task) &&
        (TASK_OF_CALL.test(query) || at(one, 'taskstatus') === 'Not Started')
          ? [{ id: `18x${index + 1}` }]
          : [],
      )
      return result(ids.slice(0, 3))
    }
    // Another query is that of a number which ends its own quotes.
    if (!CONTACTS.test(query)) return refused(400, query)
    const wanted = [...query.matchAll(/ = '([^']*)'/g)].map(([, number = '']) => number)
    const index = contacts.findIndex((number) => wanted.includes(number))
    return result(index < 0 ? [] : [{ id: `4x${index + 1}` }])
  }

  function created(type: string | null, element: unknown): CrmAnswer {
    if (!USERS.some((user) => user === at(element, 'assigned_user_id'))) return refused(400, element)
    if (type === 'Contacts') return result({ id: `4x${contacts.push(String(at(element, 'phone')))}` })
    if (type === 'Calendar') {
      if (at(element, 'taskstatus') !== 'Not Started' || typeof at(element, 'due_date') !== 'string')
        return fault('MANDATORY_FIELDS_MISSING')
      // Vtiger takes it, and then lists it among the events.
      if (at(element, 'activitytype') !== 'Task') return refused(400, element)
      return result({ id: `18x${tasks.push(element)}` })
    }
    if (type !== 'Events' || at(element, 'activitytype') !== 'Call') return refused(400, element)
    return result({ id: `9x${events.push(element)}` })
  }

  function revised(element: unknown): CrmAnswer {
    const index = Number(String(at(element, 'id')).slice('18x'.length)) - 1
    const task = tasks[index]
    if (task === undefined) return fault('RECORD_NOT_FOUND')
    tasks[index] = Object.assign({}, task, element)
    return result(tasks[index])
  }

  const stub: CrmStub = {
    ...server,
    url: `${server.url}/`,
    parameters: { username: 'hookswitch', key: KEY, responsible: '19x1', create: true },
    leftUser: '19x77',
    userAt: (index) => USERS[index % (USERS.length - 1)] ?? '',
    calls: () =>
      events.map((event) => {
        const text = (name: string): string => String(at(event, name) ?? '')
        return {
          id: /call: ([\w+-]+)$/.exec(text('description'))?.[1] ?? '',
          direction: text('subject').startsWith('Call to') ? 'outbound' : 'inbound',
          number: contacts[Number(text('contact_id').slice(2)) - 1] ?? 'no contact',
          isAnswered: text('eventstatus') === 'Held',
          user: text('assigned_user_id'),
          startedAt: text('time_start'),
          seconds: Number(/talk: (\d+) s/.exec(text('description'))?.[1]),
          recordings: [...text('description').matchAll(/recording: https/g)].length,
        }
      }),
    recordingIs: 'address',
    limited: [],
    wrongKey: [],
    passing: [],
  }
  return {
    ...stub,
    logins: () => logins,
    /** A contact without a number is there from the beginning. */
    contacts: (): readonly string[] => contacts.slice(1),
    tasks: () =>
      tasks.map((one) => ({
        status: at(one, 'taskstatus'),
        user: at(one, 'assigned_user_id'),
        subject: at(one, 'subject'),
        contact: at(one, 'contact_id'),
      })),
    endSessions: () => sessions.clear(),
  }
}
