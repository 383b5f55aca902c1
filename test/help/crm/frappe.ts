import { at, type CrmAnswer, type CrmRequest, type CrmStub, refused, startCrmServer, timeOfDay } from './server.ts'

// Made after a driven Frappe CRM 1.34.5 on Frappe 15.44.2: its REST API, links that are checked, times of the site.

const USERS = ['u1@example.com', 'u2@example.com', 'u3@example.com', 'u4@example.com', 'u99@example.com']
const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/
/** The site's time zone has no summer time, so that its offset is this. */
const ZONE = { name: 'Asia/Kolkata', offset: '+05:30' }
const HANDED_BACK = { status: 417, body: { exc_type: 'LinkValidationError' } }
const INVALID = (message: string): CrmAnswer => refused(417, { exc_type: 'ValidationError', message })

type Document = Readonly<Record<string, unknown>> & { readonly name: string | number }
type Phone = { readonly name: string; readonly full: string; readonly number: string }

export function startFrappe() {
  const contacts: Phone[] = [{ name: 'Maria Bern', full: 'Maria Bern', number: '+49 30 123456' }]
  const leads: Phone[] = []
  const documents = {
    calls: new Map<string, Document>(),
    notes: [] as Document[],
    tasks: [] as (Document & { status: string })[],
  }

  const server = startCrmServer((request) => {
    const { method, path, headers } = request
    if (headers.get('authorization') !== 'token frappe-key:frappe-secret')
      return refused(401, { exc_type: 'AuthenticationError' })
    const route = `${method} ${decodeURIComponent(path)}`
    switch (route) {
      case 'GET /api/method/frappe.auth.get_logged_user':
        return { status: 200, body: { message: 'hook@example.com' } }
      case 'GET /api/method/frappe.client.get_time_zone':
        return { status: 200, body: { message: { time_zone: ZONE.name } } }
      case 'GET /api/resource/User':
        return list([{ name: 'u1@example.com', full_name: 'Anna Smith', username: 'anna' }])
      case 'GET /api/resource/Contact':
        return list(spelled(contacts, filtersOf(request)[0]).map(({ name, full }) => ({ name, full_name: full })))
      case 'GET /api/resource/CRM Lead':
        return list(
          spelled(leads, filtersOf(request, 'or_filters')[0]).map(({ name, full }) => ({ name, lead_name: full })),
        )
      case 'GET /api/resource/CRM Deal':
        return list(dealsOf(filtersOf(request)[0]))
      case 'POST /api/resource/CRM Lead':
        return newLead(request)
      case 'GET /api/resource/FCRM Note':
        return list(containing(documents.notes, 'content', filtersOf(request)[0]))
      case 'POST /api/resource/FCRM Note':
        return created(documents.notes, request, `note-${documents.notes.length + 1}`)
      case 'POST /api/resource/CRM Call Log':
        return newCall(request)
      case 'GET /api/resource/CRM Task':
        return list(tasksOf(filtersOf(request)))
      case 'POST /api/resource/CRM Task':
        return newTask(request)
    }
    const task = documents.tasks.find(({ name }) => route === `PUT /api/resource/CRM Task/${name}`)
    if (task === undefined) return refused(404, { exc_type: 'DoesNotExistError' })
    task.status = String(at(request.json, 'status'))
    return { status: 200, body: { data: task } }
  })

  const dealsOf = (condition: unknown): readonly object[] =>
    Array.isArray(condition) && condition.at(-1) === 'With a deal' ? [{ name: 'CRM-DEAL-2026-1' }] : []

  function newLead({ json }: CrmRequest): CrmAnswer {
    const [name, number] = [at(json, 'first_name'), at(json, 'mobile_no')]
    if (typeof name !== 'string' || name === '' || name.length > 140) return INVALID('first_name')
    if (typeof number !== 'string' || number === '') return INVALID('mobile_no')
    if (!isUser(at(json, 'lead_owner'))) return HANDED_BACK
    leads.push({ name: `CRM-LEAD-2026-${leads.length + 1}`, full: name, number })
    return { status: 200, body: { data: leads.at(-1) } }
  }

  function newCall({ json }: CrmRequest): CrmAnswer {
    const id = String(at(json, 'id'))
    if (documents.calls.has(id)) return { status: 409, body: { exc_type: 'DuplicateEntryError' } }
    if (!['Completed', 'Failed', 'Busy', 'No Answer', 'Canceled'].includes(String(at(json, 'status'))))
      return INVALID('status')
    const user = at(json, 'type') === 'Incoming' ? at(json, 'receiver') : at(json, 'caller')
    if (!isUser(user) || !isReference(json)) return HANDED_BACK
    const note = at(json, 'note')
    if (note !== undefined && !documents.notes.some(({ name }) => name === note)) return HANDED_BACK
    for (const time of ['start_time', 'end_time']) if (!TIME.test(String(at(json, time)))) return INVALID(time)
    documents.calls.set(id, { ...(json as object), name: id, user })
    return { status: 200, body: { data: { name: id } } }
  }

  function newTask(request: CrmRequest): CrmAnswer {
    if (!isUser(at(request.json, 'assigned_to')) || !isReference(request.json)) return HANDED_BACK
    if (!TIME.test(String(at(request.json, 'due_date')))) return INVALID('due_date')
    return created(documents.tasks, request, documents.tasks.length + 1)
  }

  const isUser = (user: unknown): boolean => USERS.some((one) => one === user)
  function isReference(json: unknown): boolean {
    const type = at(json, 'reference_doctype')
    const name = at(json, 'reference_docname')
    if (type === 'CRM Deal') return name === 'CRM-DEAL-2026-1'
    const known = type === 'CRM Lead' ? leads : contacts
    return name === undefined || known.some((one) => one.name === name)
  }
  function tasksOf(filters: readonly unknown[]): readonly Document[] {
    const [field, , value] = Array.isArray(filters[0]) ? filters[0] : []
    if (field === 'description') return containing(documents.tasks, 'description', filters[0])
    return documents.tasks.filter((one) => one.reference_docname === value && one.status === 'Todo')
  }

  const stub: CrmStub = {
    ...server,
    parameters: { key: 'frappe-key', secret: 'frappe-secret', responsible: 'u99@example.com', create: true },
    leftUser: 'gone@example.com',
    userAt: (index) => USERS[index % (USERS.length - 1)] ?? '',
    calls: () =>
      [...documents.calls.values()].map((call) => ({
        id: String(call.name),
        direction: call.type === 'Incoming' ? 'inbound' : 'outbound',
        number: digitsAsGiven(numberOf(call.reference_docname)),
        isAnswered: call.status === 'Completed',
        user: String(call.user),
        startedAt: timeOfDay(`${String(call.start_time).replace(' ', 'T')}${ZONE.offset}`),
        seconds: Number(call.duration),
        recordings: linksIn(documents.notes.find(({ name }) => name === call.note)?.content),
      })),
    recordingIs: 'address',
    limited: [{ status: 429, body: { exc_type: 'RateLimitExceededError' } }],
    wrongKey: [{ status: 401, body: { exc_type: 'AuthenticationError' } }],
    passing: [
      { status: 500, body: { exc_type: 'QueryDeadlockError' } },
      { status: 503, body: { exc_type: 'SessionStopped' } },
    ],
  }
  const numberOf = (name: unknown): string =>
    [...contacts, ...leads].find((one) => one.name === name)?.number ?? 'no contact'
  return {
    ...stub,
    tasks: (): readonly string[] => documents.tasks.map(({ status, assigned_to: user }) => `${status} ${user}`),
    /** Adds a contact whose number is spelled like this. */
    addContact: (name: string, number: string) => contacts.push({ name, full: name, number }),
    /** What the calls are about. */
    references: (): readonly string[] =>
      [...documents.calls.values()].map((one) => `${one.reference_doctype} ${one.reference_docname}`),
    /** A person deletes the leads. */
    deleteLeads: () => leads.splice(0),
  }
}

/** The contact that the tests know has spaces in its number. */
const digitsAsGiven = (number: string): string => number.replaceAll(' ', '')
const linksIn = (content: unknown): number =>
  [...String(content ?? '').matchAll(/<a href="https:[^"<>]+">Recording<\/a>/g)].length

function created(all: Document[], { json }: CrmRequest, name: string | number): CrmAnswer {
  if (typeof at(json, 'title') !== 'string') return INVALID('title')
  const document = { ...(json as object), name }
  all.push(document as Document & { status: string })
  return { status: 200, body: { data: document } }
}

/** Returns the conditions of a search; one that is no JSON has none. */
function filtersOf({ query }: CrmRequest, by = 'filters'): readonly unknown[] {
  const given: unknown = JSON.parse(query.get(by) ?? '[]')
  return Array.isArray(given) ? given : []
}

/** Returns the records whose number is one of a condition's. A condition with an empty text finds what has no number. */
function spelled(all: readonly Phone[], condition: unknown): readonly Phone[] {
  const wanted: unknown = Array.isArray(condition) ? condition.at(-1) : []
  if (!Array.isArray(wanted)) return []
  return wanted.includes('') ? all.slice(0, 1) : all.filter(({ number }) => wanted.includes(number)).slice(0, 1)
}

/** Returns the documents whose text has the value of a `like` condition. */
function containing(all: readonly Document[], field: string, condition: unknown): readonly Document[] {
  const [name, operator, value] = Array.isArray(condition) ? condition : []
  if (name !== field || operator !== 'like') return []
  return all.filter((one) => String(one[field]).includes(String(value).replaceAll('%', ''))).slice(0, 1)
}

const list = (data: readonly unknown[]): CrmAnswer => ({ status: 200, body: { data } })
