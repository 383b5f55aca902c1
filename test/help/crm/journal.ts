import { at, type CrmStub, type LoggedCall, refused, startCrmServer, timeOfDay } from './server.ts'

/** A system with a form for calls: it knows a repeated call by its id, and takes JSON or a form. */
export function startJournal(format: 'json' | 'form' = 'json'): CrmStub {
  const calls = new Map<string, LoggedCall>()
  const server = startCrmServer(({ method, path, text, json, headers }) => {
    const form = new URLSearchParams(text)
    const field = (name: string): unknown => (format === 'json' ? at(json, name) : (form.get(name) ?? undefined))
    if (method !== 'POST' || path !== '/calls.php') return refused(404, 'not found')
    const type = format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded'
    if (headers.get('content-type') !== type) return refused(415, 'content type')
    const [id, direction, number] = [field('call_id'), field('direction'), field('number')]
    if (typeof id !== 'string' || (direction !== 'inbound' && direction !== 'outbound'))
      return refused(422, 'call_id or direction')
    if (number === null || number === '') return { status: 200 }
    calls.set(id, {
      id,
      direction,
      number: String(number),
      isAnswered: field('result') === 'answered',
      user: String(field('owner_user')),
      startedAt: timeOfDay(String(field('started_at'))),
      seconds: Number(field('talk_duration') ?? 0),
      recordings: [undefined, null, ''].includes(field('recording_url') as undefined) ? 0 : 1,
    })
    return { status: 200, body: 'ok' }
  })
  return {
    ...server,
    url: `${server.url}/calls.php`,
    parameters: { responsible: 'boss', format },
    leftUser: '777',
    knowsUsers: false,
    userAt: (index) => `user ${index} & "Co"`,
    calls: () => [...calls.values()],
    recordingIs: 'address',
    limited: [{ status: 429, headers: { 'retry-after': '1' } }, { status: 503 }],
    wrongKey: [{ status: 401, body: '' }],
    passing: [{ status: 500, body: 'error' }],
  }
}
