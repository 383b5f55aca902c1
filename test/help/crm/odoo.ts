import { holds, type Partner, partner } from './odoo-contacts.ts'
import { at, type CrmAnswer, type CrmRequest, type CrmStub, refused, startCrmServer } from './server.ts'

// https://www.odoo.com/documentation/19.0/developer/reference/external_api.html, and the same methods over /jsonrpc.

const NUMBER_FIELDS_OF_19 = ['phone_sanitized', 'phone_mobile_search']
/** Without the module `phone_validation` the first one is missing, too. */
const NUMBER_FIELDS_OF_14 = ['phone_sanitized', 'mobile']
const USERS = [7, 8, 9, 10, 11, 12, 13, 99]
type Row = Readonly<Record<string, unknown>>

const rpcFault = (name: string, message: string): CrmAnswer => ({
  status: 200,
  body: { jsonrpc: '2.0', id: 1, error: { code: 200, message: 'Odoo Server Error', data: { name, message } } },
})

const MARIA = partner({ id: 25, name: 'Maria Bern', phone: '+4930123456' })

/** Starts an Odoo that knows Maria Bern, and other contacts. */
export function startOdoo(version: 'json2' | 'rpc' = 'json2', known: readonly Partner[] = []) {
  /** Records by their external id. */
  const records = new Map<string, { model: string; id: number; row: Row }>()
  const server = startCrmServer((request) => (version === 'json2' ? json2(request) : rpc(request)))
  let lastId = 100
  /** The ids of the attachments that hang on a note. */
  const ofNotes = new Set<number>()
  const numberFields = version === 'json2' ? NUMBER_FIELDS_OF_19 : NUMBER_FIELDS_OF_14

  function json2({ method, path, headers, json }: CrmRequest): CrmAnswer {
    const [, model, name] = /^\/json\/2\/([\w.]+)\/(\w+)$/.exec(path) ?? []
    if (headers.get('authorization') !== 'bearer key-1')
      return refused(401, { name: 'werkzeug.exceptions.Unauthorized', message: 'Invalid apikey' })
    if (headers.get('x-odoo-database') !== 'acme') return refused(404, { message: 'no database' })
    if (method !== 'POST' || model === undefined || name === undefined)
      return refused(404, { name: 'werkzeug.exceptions.NotFound' })
    const made = made_(model, name, json)
    return 'fault' in made
      ? refused(422, { name: 'builtins.ValueError', message: made.fault })
      : { status: 200, body: made.result }
  }
  function rpc({ method, path, json }: CrmRequest): CrmAnswer {
    if (method !== 'POST' || path !== '/jsonrpc') return refused(404, {})
    const args = at(json, 'params', 'args')
    if (
      at(json, 'params', 'service') !== 'object' ||
      at(json, 'params', 'method') !== 'execute_kw' ||
      !Array.isArray(args)
    )
      return refused(400, {})
    const [database, uid, key, model, name, positional, named] = args as unknown[]
    const fault = (name: string, message: string): CrmAnswer => ({
      ...rpcFault(name, message),
      headers: { 'x-stub': 'refused' },
    })
    if (database !== 'acme' || uid !== 2 || key !== 'key-1')
      return fault('odoo.exceptions.AccessDenied', 'Access Denied')
    if (!Array.isArray(positional)) return fault('builtins.TypeError', 'positional arguments')
    // Over /jsonrpc these two take their arguments by position alone.
    const [first, second] = positional as unknown[]
    const byPosition: Record<string, unknown> = {
      create: { vals_list: first },
      write: { ids: first, vals: second },
      action_feedback: { ids: first },
      check_access_rights: { operation: first },
    }
    const arguments_ = byPosition[String(name)]
    if (positional.length > 0 !== (arguments_ !== undefined)) return fault('builtins.TypeError', 'positional arguments')
    const made = made_(String(model), String(name), arguments_ ?? named)
    return 'fault' in made
      ? fault('builtins.ValueError', made.fault)
      : { status: 200, body: { jsonrpc: '2.0', id: 1, result: made.result } }
  }

  type Made = { readonly result: unknown } | { readonly fault: string }
  function made_(model: string, method: string, named: unknown): Made {
    if (method === 'context_get') return { result: { lang: 'en_US', uid: 2 } }
    // Odoo 19, and earlier versions.
    if (method === 'has_access' || method === 'check_access_rights') return { result: true }
    if (method === 'search_read' && model === 'res.users.apikeys') return { result: [] }
    if (method === 'search_read') return searchRead(model, named)
    if (method === 'load') return load(model, named)
    if (method === 'fields_get' && model === 'res.partner')
      return { result: Object.fromEntries(numberFields.map((field) => [field, { type: 'char' }])) }
    if (method === 'create' && model === 'res.partner') return create(at(named, 'vals_list'))
    if (method === 'action_feedback' && model === 'mail.activity') return complete(at(named, 'ids', 0))
    if (method === 'write' && model === 'mail.message') return write(at(named, 'ids', 0), at(named, 'vals'))
    return { fault: `no method ${method}` }
  }
  function searchRead(model: string, named: unknown): Made {
    const domain = at(named, 'domain')
    if (!Array.isArray(domain)) return { fault: 'domain' }
    const leaves = domain.filter(Array.isArray)
    const [[field = '', , value] = []] = leaves
    if (model === 'res.partner' && field === 'id')
      return { result: [MARIA, ...known, ...partners()].filter(({ id }) => id === value).map(({ id }) => ({ id })) }
    if (model === 'res.partner') return searchPartner(domain)
    if (model === 'res.users' && field === 'share') return { result: [{ id: 7, name: 'Anna Smith' }] }
    if (model === 'res.users' && field === 'id')
      return {
        result: USERS.some((user) => user === value)
          ? [{ id: value, partner_id: [Number(value) + 1_000, 'Name'] }]
          : [],
      }
    const found = [...records.values()].find(
      (one) =>
        one.model === model &&
        leaves.every(([field, operator, value]) => {
          if (field === 'id') return one.id === value
          const has = String(one.row[field] ?? '')
          // What is loaded names the model of an activity by its external id.
          if (field === 'res_model') return value === 'res.partner'
          return operator === 'ilike' ? has.includes(String(value)) : has === String(value)
        }),
    )
    return {
      result:
        found === undefined
          ? []
          : [{ id: found.id, description: found.row.description, res_id: Number(found.row.res_id) }],
    }
  }
  function searchPartner(domain: readonly unknown[]): Made {
    try {
      const found = [MARIA, ...partners(), ...known].find((one) => holds(domain, one, numberFields))
      return { result: found === undefined ? [] : [{ ...found, parent_name: 'Bern & Co' }] }
    } catch (error) {
      return { fault: error instanceof Error ? error.message : String(error) }
    }
  }
  const partners = (): Partner[] =>
    [...records.values()]
      .filter(({ model }) => model === 'res.partner')
      .map(({ id, row }) => partner({ id, name: String(row.name), phone: String(row.phone) }))
  function create(list: unknown): Made {
    if (!Array.isArray(list)) return { fault: 'vals_list' }
    const ids = list.map((row: Row) => {
      lastId += 1
      records.set(`created ${lastId}`, { model: 'res.partner', id: lastId, row })
      return lastId
    })
    return { result: ids }
  }
  function complete(id: unknown): Made {
    const found = [...records].find(([, one]) => one.model === 'mail.activity' && one.id === id)
    if (found === undefined) return { fault: 'Record does not exist or has been deleted.' }
    records.delete(found[0])
    lastId += 1
    return { result: lastId }
  }
  function write(id: unknown, values: unknown): Made {
    const attachment = at(values, 'attachment_ids', 0, 1)
    const of = (model: string, wanted: unknown) =>
      [...records.values()].some((one) => one.model === model && one.id === wanted)
    if (!of('mail.message', id) || !of('ir.attachment', attachment)) return { fault: 'no such record' }
    ofNotes.add(Number(attachment))
    return { result: true }
  }
  function load(model: string, named: unknown): Made {
    const [fields, rows] = [at(named, 'fields'), at(named, 'data')]
    if (!Array.isArray(fields) || !Array.isArray(rows)) return { fault: 'fields and data' }
    const ids: number[] = []
    for (const values of rows) {
      if (!Array.isArray(values) || values.length !== fields.length) return { fault: 'a row has another length' }
      if (values.some((value) => typeof value !== 'string')) return { fault: 'a value is no text' }
      const row: Row = Object.fromEntries(fields.map((field, index) => [String(field), values[index]]))
      const externalId = String(row.id)
      if (!/^hookswitch\.\w+$/.test(externalId)) return { fault: 'external id' }
      const missing = REQUIRED[model]?.filter((name) => row[name] === undefined || row[name] === '') ?? ['model']
      if (missing.length > 0)
        return {
          result: {
            ids: false,
            messages: [{ type: 'error', message: `Missing required value for the field ${missing}` }],
          },
        }
      // A time without a zone is in the zone of the context, else of the user.
      if (row.date !== undefined && at(named, 'context', 'tz') !== 'UTC') return { fault: 'the zone of the date' }
      if (model === 'mail.message' && !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(String(row.date)))
        return { fault: 'date' }
      if (row['user_id/.id'] !== undefined && !USERS.includes(Number(row['user_id/.id'])))
        return { fault: 'No matching record' }
      if (![MARIA, ...known, ...partners()].some(({ id }) => String(id) === row.res_id))
        return { result: { ids: false, messages: [{ type: 'error', message: deletedRecord(row.res_id) }] } }
      const loaded = records.get(externalId)
      if (loaded !== undefined && model === 'mail.message')
        return { fault: "Only administrators can modify 'model' and 'res_id' fields." }
      lastId += loaded === undefined ? 1 : 0
      const record = { model, id: loaded?.id ?? lastId, row }
      records.set(externalId, record)
      ids.push(record.id)
    }
    return { result: { ids, messages: [], nextrow: 0 } }
  }

  const partnerNumber = (id: unknown): string =>
    [...records.values()].find((one) => one.model === 'res.partner' && String(one.id) === id)?.row.phone as string
  const stub: CrmStub = {
    ...server,
    parameters: {
      version,
      key: 'key-1',
      database: 'acme',
      ...(version === 'rpc' ? { uid: '2' } : {}),
      responsible: '99',
      create: true,
    },
    leftUser: '777',
    userAt: (index) => String(USERS[index % (USERS.length - 1)]),
    calls: () =>
      [...records].flatMap(([externalId, { model, row }]) => {
        if (model !== 'mail.message') return []
        const body = String(row.body)
        const id = externalId.slice('hookswitch.call_'.length).replace(/_\d+$/, '').replaceAll('_', '-')
        const recordings = [...records.values()].filter(
          (one) =>
            one.model === 'ir.attachment' &&
            ofNotes.has(one.id) &&
            one.row.res_id === row.res_id &&
            String(one.row.description).startsWith(`Call: ${id}, recording: `),
        )
        return [
          {
            id,
            direction: /^Outgoing/.test(String(row.subject)) ? ('outbound' as const) : ('inbound' as const),
            number: partnerNumber(row.res_id),
            isAnswered: /Result: answered/.test(body),
            user: String(Number(row['author_id/.id']) - 1_000),
            startedAt: String(row.date).slice(11),
            seconds: Number(/talk (\d+) s/.exec(body)?.[1]),
            recordings: recordings.length,
          },
        ]
      }),
    recordingIs: 'address',
    limited: [{ status: 429, body: '' }],
    wrongKey: [
      version === 'json2'
        ? { status: 401, body: { name: 'werkzeug.exceptions.Unauthorized', message: 'Invalid apikey' } }
        : rpcFault('odoo.exceptions.AccessDenied', 'Access Denied'),
    ],
    passing: [
      { status: 503, body: '' },
      ...(version === 'rpc'
        ? [
            {
              status: 200,
              body: {
                jsonrpc: '2.0',
                id: 1,
                error: {
                  code: 200,
                  message: 'Odoo Server Error',
                  data: { name: 'psycopg2.errors.SerializationFailure' },
                },
              },
            },
          ]
        : []),
    ],
  }
  return {
    ...stub,
    /** Returns how many activities are open. */
    activities: (): number => [...records.values()].filter(({ model }) => model === 'mail.activity').length,
    /** Returns the deadline of each open activity. */
    deadlines: (): unknown[] =>
      [...records.values()].filter(({ model }) => model === 'mail.activity').map(({ row }) => row.date_deadline),
    /** Merges the contacts that were created into new ones, which do not get what hangs on them. */
    mergeContacts(): void {
      for (const [name, { model, row }] of [...records]) {
        if (model !== 'res.partner') continue
        records.delete(name)
        create([row])
      }
    },
    /** Deletes the contacts that were created, and what hangs on them, as a user would. */
    deleteContacts(): void {
      const ids = partners().map(({ id }) => String(id))
      for (const [name, { id, row }] of records)
        if (ids.includes(String(id)) || ids.includes(String(row.res_id))) records.delete(name)
    },
  }
}

const deletedRecord = (id: unknown): string =>
  `Record does not exist or has been deleted.\n(Record: res.partner(${String(id)},), User: 2)`

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'mail.message': ['model', 'res_id', 'body', 'message_type', 'subtype_id/id'],
  'mail.activity': [
    'res_model_id/id',
    'res_id',
    'activity_type_id/id',
    'user_id/.id',
    'date_deadline',
    'summary',
    'note',
  ],
  'ir.attachment': ['name', 'type', 'url', 'res_model', 'res_id'],
}
