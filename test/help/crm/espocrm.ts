import { at, type CrmAnswer, type CrmStub, refused, startCrmServer } from './server.ts'

// https://docs.espocrm.com/development/api/crud/ and the metadata of Call: required fields, enumerations, UTC times.

/** The pattern `noBadCharacters` of EspoCRM, and the length of its texts. */
const isName = (text: string): boolean => /^[^<>=]+$/.test(text) && text.length <= 100
const USERS = ['u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u55', 'u99']
/** Users who are there, and may not log in any more: EspoCRM assigns calls to them all the same. */
const inactive = new Set(['u55'])
/** As EspoCRM 9.3.9 shows the rights of an API user with the role of the guide. */
const acl = {
  table: { User: { read: 'all' }, Contact: { create: 'yes', read: 'all' }, Call: { create: 'yes', read: 'all' } },
  assignmentPermission: 'all',
}
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/

export function startEspocrm() {
  type Call = {
    id: string
    direction: string
    status: string
    user: string
    description: string
    contact: unknown
    start: string
    end: string
  }
  let calls: Call[] = []
  const contacts: string[] = ['+4930123456']
  const names: string[] = ['Maria Bern']
  let made = 0
  const tasks: { status: string; description: string; contact: string; user: string }[] = []
  const server = startCrmServer(({ method, path, json, headers, query }) => {
    if (headers.get('x-api-key') !== 'espo-key') return refused(401, '')
    const route = `${method} ${path}`
    if (route === 'GET /api/v1/App/user') return { status: 200, body: { user: { id: 'u1', type: 'api' }, acl } }
    if (route === 'GET /api/v1/User') {
      const id = query.get('where[1][value]')
      if (id === null) return list([{ id: 'u1', name: 'Anna Smith' }])
      return list(USERS.includes(id) && !inactive.has(id) ? [{ id }] : [])
    }
    const where = [query.get('where[0][type]'), query.get('where[0][attribute]'), query.get('where[0][value]')]
    if (route === 'GET /api/v1/Contact') {
      const wanted = numbersOf(query)
      if (wanted === undefined) return refused(400, 'where')
      const found = contacts.findIndex((phone) => wanted.includes(phone))
      return list(found < 0 ? [] : [{ id: `c${found + 1}`, name: names[found] }])
    }
    if (route === 'POST /api/v1/Contact') {
      const phone = at(json, 'phoneNumber')
      const lastName = at(json, 'lastName')
      if (typeof lastName !== 'string' || typeof phone !== 'string' || !isName(lastName))
        return refused(400, 'lastName')
      if (!USERS.some((user) => user === at(json, 'assignedUserId'))) return { status: 403 }
      // Duplicates of a name are refused, with the records that are there, unless the check is skipped.
      const name = String(at(json, 'lastName'))
      const known = names.indexOf(name)
      if (known >= 0 && headers.get('x-skip-duplicate-check') !== 'true')
        return { status: 409, body: [{ id: `c${known + 1}` }] }
      names[contacts.length] = name
      contacts.push(phone)
      return { status: 200, body: { id: `c${contacts.length}` } }
    }
    if (route === 'GET /api/v1/Call') {
      if (where[0] !== 'contains' || where[1] !== 'description') return refused(400, 'where')
      return list(
        calls.filter(({ description }) => description.includes(where[2] ?? '?')).slice(0, Number(query.get('maxSize'))),
      )
    }
    if (route === 'POST /api/v1/Call') return newCall(json)
    if (route === 'GET /api/v1/Task') return list(tasksOf(query))
    if (route === 'POST /api/v1/Task') {
      const task = (name: string): string => String(at(json, name) ?? '')
      if (!isName(task('name')) || task('parentType') !== 'Contact') return refused(400, 'name')
      if (!USERS.includes(task('assignedUserId'))) return { status: 403 }
      tasks.push({
        status: 'Not Started',
        description: task('description'),
        contact: task('parentId'),
        user: task('assignedUserId'),
      })
      return { status: 200, body: { id: `t${tasks.length}` } }
    }
    const task = tasks[Number(/^PUT \/api\/v1\/Task\/t(\d+)$/.exec(route)?.[1]) - 1]
    if (task !== undefined) {
      task.status = String(at(json, 'status'))
      return { status: 200, body: task }
    }
    const [, id] = /^DELETE \/api\/v1\/Call\/(\w+)$/.exec(route) ?? []
    if (id === undefined) return refused(404, '')
    const before = calls.length
    calls = calls.filter((call) => call.id !== id)
    return { status: before === calls.length ? 404 : 200, body: before !== calls.length }
  })

  /** Returns the tasks of a call, or the open ones of a contact. */
  function tasksOf(query: URLSearchParams): { id: string }[] {
    const [attribute, value = ''] = [query.get('where[0][attribute]'), query.get('where[0][value]') ?? '']
    return tasks.flatMap(({ status, description, contact }, index) => {
      const isWanted =
        attribute === 'description' ? description.includes(value) : contact === value && status === 'Not Started'
      return isWanted ? [{ id: `t${index + 1}` }] : []
    })
  }
  function newCall(json: unknown): CrmAnswer {
    const text = (name: string): string => String(at(json, name) ?? '')
    if (!isName(text('name'))) return refused(400, 'name')
    if (!['Planned', 'Held', 'Not Held'].includes(text('status'))) return refused(400, 'status')
    if (!['Outbound', 'Inbound'].includes(text('direction'))) return refused(400, 'direction')
    if (!TIME.test(text('dateStart')) || !TIME.test(text('dateEnd')) || text('dateEnd') < text('dateStart'))
      return refused(400, 'dateStart')
    if (!USERS.includes(text('assignedUserId'))) return { status: 403 }
    made += 1
    calls.push({
      id: `call${made}`,
      direction: text('direction'),
      status: text('status'),
      user: text('assignedUserId'),
      description: text('description'),
      contact: at(json, 'contactsIds', 0),
      start: text('dateStart'),
      end: text('dateEnd'),
    })
    return { status: 200, body: { id: `call${made}` } }
  }

  const stub: CrmStub = {
    ...server,
    parameters: { key: 'espo-key', responsible: 'u99', create: true },
    leftUser: 'u77',
    userAt: (index) => USERS[index % (USERS.length - 2)] ?? '',
    calls: () =>
      calls.map(({ direction, status, user, description, contact, start }) => ({
        id: /Call: ([\w+-]+)/.exec(description)?.[1] ?? '',
        direction: direction === 'Inbound' ? 'inbound' : 'outbound',
        number: contacts[Number(String(contact).slice(1)) - 1] ?? 'no contact',
        isAnswered: status === 'Held',
        user,
        startedAt: start.slice(11),
        seconds: Number(/talk (\d+) s/.exec(description)?.[1]),
        recordings: [...description.matchAll(/^Recording: https/gm)].length,
      })),
    recordingIs: 'address',
    limited: [{ status: 429, body: '' }],
    wrongKey: [{ status: 401, body: '' }],
    passing: [
      { status: 500, body: '' },
      { status: 503, body: '' },
    ],
  }
  return { ...stub, tasks: (): readonly string[] => tasks.map(({ status, user }) => `${status} ${user}`) }
}

/** The numbers of a condition, or of the conditions of which one has to hold. */
function numbersOf(query: URLSearchParams): readonly string[] | undefined {
  const isOr = query.get('where[0][type]') === 'or'
  const places = isOr ? [0, 1].map((at) => `where[0][value][${at}]`) : ['where[0]']
  const isNumber = (place: string) =>
    query.get(`${place}[type]`) === 'equals' && query.get(`${place}[attribute]`) === 'phoneNumber'
  const numbers = places.map((place) => query.get(`${place}[value]`) ?? '')
  // An empty text would find a contact without a number.
  return places.every(isNumber) && !numbers.includes('') ? numbers : undefined
}

const list = (found: readonly unknown[]): CrmAnswer => ({ status: 200, body: { total: found.length, list: found } })
