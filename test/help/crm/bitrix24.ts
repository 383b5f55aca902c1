import { at, type CrmAnswer, type CrmRequest, type CrmStub, refused, startCrmServer, timeOfDay } from './server.ts'

// https://apidocs.bitrix24.com/api-reference/telephony/: the rules of the methods, their errors and their order.

type Registered = {
  readonly callId: string
  readonly key: string
  readonly externalId: string
  readonly type: number
  readonly number: string
  readonly start: string
  finished: { user: number; duration: number; code: string } | undefined
  readonly cards: Set<string>
  readonly shown: Set<string>
  recordings: number
}

const USERS = [1269, 1270, 1271, 1272, 1273, 1274, 1275, 1276, 1277, 1278]
const CODES = ['200', '304', '603', '603-S', '403', '404', '486', '484', '503', '480', '402', '423', 'OTHER']
/** As the module `voximplant` of Bitrix has it: without the last bracket. */
const NOT_REGISTERED = 'Call is not found (call should be registered prior to finishing'
const time = { start: 1, finish: 2, duration: 1 }

/** `authorization`: of an application; else the URL has the key. */
export function startBitrix24(authorization?: string): CrmStub {
  const calls: Registered[] = []
  const uploads = new Map<string, Registered>()
  const server = startCrmServer((request) => {
    if (request.path.startsWith('/upload/')) return upload(request)
    const pattern = authorization === undefined ? /^\/rest\/1\/secret\/([\w.]+)\.json$/ : /^\/rest\/([\w.]+)\.json$/
    const [, method] = pattern.exec(request.path) ?? []
    if (method === undefined || (authorization !== undefined && request.headers.get('authorization') !== authorization))
      return refused(401, { error: 'NO_AUTH_FOUND', error_description: 'Wrong authorization data' })
    if (request.method !== 'POST' || request.json === undefined) return coreError('no JSON')
    return METHODS[method]?.(request.json) ?? refused(404, { error: 'ERROR_METHOD_NOT_FOUND' })
  })
  const found = (json: unknown) => calls.find(({ callId }) => callId === at(json, 'CALL_ID'))
  const userOf = (json: unknown) => Number(at(json, 'USER_ID'))

  const METHODS: Readonly<Record<string, (json: unknown) => CrmAnswer>> = {
    'telephony.externalCall.register'(json) {
      if (!USERS.includes(userOf(json))) return coreError('User is not found or is not active')
      const [number, type, start] = [at(json, 'PHONE_NUMBER'), at(json, 'TYPE'), at(json, 'CALL_START_DATE')]
      if (typeof number !== 'string' || !/\d/.test(number)) return coreError('Unsupported phone number format')
      if (type !== 1 && type !== 2) return coreError('Unknown TYPE')
      if (typeof start !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/.test(start))
        return coreError('CALL_START_DATE should be in the ISO-8601 format')
      const externalId = at(json, 'EXTERNAL_CALL_ID')
      if (typeof externalId !== 'string') return coreError('two calls of one pair would become one')
      const key = JSON.stringify([number, type, userOf(json), at(json, 'LINE_NUMBER'), externalId])
      // A call that is finished is forgotten.
      const known = calls.find((one) => one.key === key && one.finished === undefined)
      const call = known ?? {
        callId: `externalCall.${calls.length + 1}`,
        key,
        externalId,
        type,
        number,
        start,
        finished: undefined,
        shown: new Set<string>(),
        cards: new Set(at(json, 'SHOW') === 0 ? [] : [String(userOf(json))]),
        recordings: 0,
      }
      if (known === undefined) calls.push(call)
      return result({ CALL_ID: call.callId, CRM_CREATED_ENTITIES: [], CRM_ENTITY_TYPE: 'CONTACT', CRM_ENTITY_ID: 797 })
    },
    'telephony.externalCall.show'(json) {
      const call = found(json)
      if (call !== undefined && call.finished === undefined) {
        call.cards.add(String(userOf(json)))
        call.shown.add(String(userOf(json)))
      }
      return result(call !== undefined)
    },
    'telephony.externalCall.hide'(json) {
      const call = found(json)
      const users = [at(json, 'USER_ID')].flat()
      if (!users.every((one) => typeof one === 'number')) return coreError('USER_ID must be a user or a list of users')
      for (const one of users) call?.cards.delete(String(one))
      return result(call !== undefined)
    },
    'telephony.externalCall.finish'(json) {
      if (typeof at(json, 'CALL_ID') !== 'string')
        return refused(400, { error: 'INVALID_ARGUMENT', error_description: 'CALL_ID must be a string' })
      if (!USERS.includes(userOf(json))) return coreError('User is not found or is not active')
      const call = found(json)
      if (call === undefined) return coreError(NOT_REGISTERED)
      // A second time is no fault of ours after a kill: the preset must take the answer for an end.
      if (call.finished !== undefined)
        return {
          status: 400,
          body: { error: 'ERROR_CORE', error_description: NOT_REGISTERED },
        }
      const [duration, code] = [at(json, 'DURATION'), at(json, 'STATUS_CODE')]
      if (typeof duration !== 'number' || typeof code !== 'string' || !CODES.includes(code))
        return coreError('wrong DURATION or STATUS_CODE')
      call.finished = { user: userOf(json), duration, code }
      return result({ CALL_ID: call.callId, CRM_ACTIVITY_ID: 7943, ID: 7 })
    },
    'telephony.externalCall.attachRecord'(json) {
      const call = found(json)
      if (call?.finished === undefined)
        return coreError('Call is not found in the statistic table. Looks like it is not finished yet.')
      const name = at(json, 'FILENAME')
      if (typeof name !== 'string' || !/\.(wav|mp3)$/.test(name))
        return coreError('Wrong file extension. Only wav and mp3 are allowed')
      const token = `${call.callId}-${uploads.size}`
      uploads.set(token, call)
      return result({ uploadUrl: `${server.url}/upload/${token}?token=a%2Bb`, fieldName: 'file' })
    },
    'telephony.externalCall.searchCrmEntities': (json) =>
      at(json, 'PHONE_NUMBER') === '+4930123456'
        ? result([
            {
              CRM_ENTITY_TYPE: 'CONTACT',
              CRM_ENTITY_ID: 797,
              NAME: 'Maria Bern',
              ASSIGNED_BY: { ID: '1269', USER_PHONE_INNER: '101' },
            },
          ])
        : result([]),
    'user.get': () =>
      result([
        { ID: '1269', NAME: 'Anna', LAST_NAME: 'Smith', UF_PHONE_INNER: '101' },
        { ID: '1270', NAME: 'Bo', LAST_NAME: '', UF_PHONE_INNER: null },
      ]),
    'user.current': () => result({ ID: '1', NAME: 'Admin' }),
  }

  function upload({ path, form, query }: CrmRequest): CrmAnswer {
    const call = uploads.get(path.slice('/upload/'.length))
    if (call === undefined || query.get('token') !== 'a+b') return coreError('wrong upload')
    const file = form?.get('file')
    if (!(file instanceof File)) return coreError('Error: required parameter file is not found')
    if (!/\.(wav|mp3)$/i.test(file.name)) return coreError('Wrong file extension. Only wav and mp3 are allowed')
    // Only one record is kept of a call.
    call.recordings = 1
    return result({ FILE_ID: 9043 })
  }

  return {
    ...server,
    url: authorization === undefined ? `${server.url}/rest/1/secret/` : `${server.url}/rest/`,
    ...(authorization === undefined ? {} : { authorization }),
    parameters: { responsible: '1278', create: true },
    leftUser: '777',
    userAt: (index) => String(USERS[index % (USERS.length - 1)]),
    calls: () =>
      calls.flatMap(({ externalId, type, number, start, finished, recordings }) =>
        finished === undefined
          ? []
          : [
              {
                id: externalId,
                direction: type === 1 ? 'outbound' : 'inbound',
                number,
                isAnswered: finished.code === '200',
                user: String(finished.user),
                startedAt: timeOfDay(start),
                seconds: finished.duration,
                recordings,
              },
            ],
      ),
    shown: () => new Map(calls.map(({ externalId, shown }) => [externalId, shown])),
    showsBy: 'id',
    cards: () => new Map(calls.map(({ externalId, cards }) => [externalId, cards])),
    limited: [{ status: 503, body: { error: 'QUERY_LIMIT_EXCEEDED', error_description: 'Too many requests' } }],
    expired: {
      status: 401,
      body: { error: 'expired_token', error_description: 'The access token provided has expired' },
    },
    wrongKey: [
      { status: 401, body: { error: 'INVALID_CREDENTIALS', error_description: 'Invalid request credentials' } },
    ],
    passing: [
      { status: 200, body: { error: 'INTERNAL_SERVER_ERROR', error_description: 'Internal server error' } },
      { status: 503, body: { error: 'OVERLOAD_LIMIT' } },
      { status: 502, body: 'Bad Gateway' },
    ],
  }
}

const result = (value: unknown): CrmAnswer => ({ status: 200, body: { result: value, time } })
const coreError = (error_description: string): CrmAnswer => refused(400, { error: 'ERROR_CORE', error_description })
