import { at, type CrmStub, refused, startCrmServer, timeOfDay } from './server.ts'

// As Dolibarr 16.0.3 was driven: ids as bare numbers, 404 for an empty list, filters in brackets.

const USERS = ['1', '2', '3', '4', '5', '6', '7', '8']
const MISSING = { status: 404, body: { error: { code: 404, message: 'Not Found' } } }

export function startDolibarr(): CrmStub {
  type Event = {
    ref: string
    user: string
    label: string
    start: number
    end: number
    note: string
    contact: string
    percent: number
  }
  const contacts: { phone: string; name: string }[] = [{ phone: '+4930123456', name: 'Maria Bern' }]
  const events: Event[] = []
  const server = startCrmServer(({ method, path, json, headers, query }) => {
    if (headers.get('dolapikey') !== 'doli-key')
      return refused(401, { error: { message: 'Unauthorized: Access denied' } })
    const filter = query.get('sqlfilters') ?? ''
    const valuesOf = (field: string) =>
      [...filter.matchAll(/\(t\.(\w+):=:'?([^')]*)'?\)/g)].flatMap(([, name, value = '']) =>
        name === field ? [value] : [],
      )
    const route = `${method} ${path.replace(/^\/api\/index\.php/, '')}`
    if (route === 'GET /users/info') return { status: 200, body: { id: '5', login: 'hook' } }
    if (route === 'GET /users') return { status: 200, body: [{ id: '2', firstname: 'Anna', lastname: 'Smith' }] }
    if (route === 'GET /contacts') {
      const wanted = valuesOf('phone')
      // A number that ends its own quotes or brackets would be another filter.
      if (wanted.length === 0 || !/^\(t\.\w+:=:'[^'()\\]*'\)( or \(t\.\w+:=:'[^'()\\]*'\))*$/.test(filter))
        return refused(503, 'sqlfilters')
      // It would find a contact without a number.
      if (wanted.includes('')) return refused(400, 'an empty number')
      const found = contacts.findIndex(({ phone }) => wanted.includes(phone))
      const one = { id: `${found + 1}`, firstname: '', lastname: contacts[found]?.name, socid: null }
      return found < 0 ? MISSING : { status: 200, body: [one] }
    }
    if (route === 'POST /contacts') {
      const [phone, name] = [at(json, 'phone_pro'), at(json, 'lastname')]
      if (typeof phone !== 'string' || typeof name !== 'string') return refused(400, 'lastname field missing')
      return { status: 200, body: contacts.push({ phone, name }) }
    }
    if (route === 'GET /agendaevents') {
      const [ref] = valuesOf('ref_ext')
      const [contact] = valuesOf('fk_contact')
      if (contact !== undefined && !/^\d+$/.test(contact)) return refused(503, `Unknown column '${contact}'`)
      const found = events.flatMap((one, index) =>
        (ref === undefined ? one.contact === contact && one.percent === 0 : one.ref === ref)
          ? [{ id: `${index + 1}` }]
          : [],
      )
      return found.length === 0 ? MISSING : { status: 200, body: found.slice(0, Number(query.get('limit'))) }
    }
    if (route === 'POST /agendaevents') {
      const user = String(at(json, 'userownerid'))
      if (!USERS.includes(user) || at(json, 'type_code') !== 'AC_TEL') return refused(400, 'userownerid')
      const start = Number(at(json, 'datep'))
      const end = Number(at(json, 'datef'))
      if (!(start > 1_000_000_000 && end >= start)) return refused(400, 'datep')
      return {
        status: 200,
        body: events.push({
          ref: String(at(json, 'ref_ext')),
          user,
          label: String(at(json, 'label')),
          start,
          end,
          note: String(at(json, 'note_private')),
          contact: String(at(json, 'contact_id') ?? ''),
          percent: Number(at(json, 'percentage')),
        }),
      }
    }
    const [, id] = /^PUT \/agendaevents\/(\d+)$/.exec(route) ?? []
    const event = events[Number(id) - 1]
    if (event === undefined) return refused(404, route)
    event.percent = Number(at(json, 'percentage'))
    return { status: 200, body: { id } }
  })
  return {
    ...server,
    url: `${server.url}/`,
    parameters: { key: 'doli-key', responsible: '8', create: true },
    userAt: (index) => USERS[1 + (index % 6)] ?? '2',
    leftUser: '99',
    knowsUsers: false,
    calls: () =>
      events.map(({ ref, user, label, start, end, note, contact, percent }) => ({
        id: ref,
        direction: label.startsWith('Call to') ? 'outbound' : 'inbound',
        number: contacts[Number(contact) - 1]?.phone ?? '',
        isAnswered: percent === 100 && /result: answered/.test(note),
        user,
        startedAt: timeOfDay(start * 1_000),
        seconds: end - start,
        recordings: note.split('recording:').length - 1,
      })),
    countsWholeCall: true,
    recordingIs: 'address',
    limited: [{ status: 429, body: {} }],
    wrongKey: [{ status: 401, body: { error: { message: 'Unauthorized' } } }],
    passing: [
      { status: 503, body: {} },
      { status: 500, body: {} },
    ],
  }
}
