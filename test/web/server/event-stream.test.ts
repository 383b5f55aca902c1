import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { createEventStreamDecoder } from '../../../src/web/browser/lib/event-stream-decoder.ts'
import { messageOf, openSink } from '../../../src/web/server/stream-sink.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { ask, newToken, webhook } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { startReceiver, until } from '../../help/receiver.ts'
import { followStream as follow } from '../../help/stream.ts'

describe('GET /stream of the compiled file', () => {
  const folder = emptyFolder()
  const receiver = startReceiver()
  const followed = Promise.withResolvers<void>()
  const replay = startReplay({ files: [fixture('a-inbound-answered.ami')], speed: 4, after: followed.promise })
  let app: RunningApp
  let token: string
  let stranger: string

  beforeAll(async () => {
    const pbx = `ami://u:s@127.0.0.1:${replay.port}?name=office`
    const first = await startServe({ cwd: folder.path })
    token = await newToken(first, 'a@example.com')
    stranger = await newToken(first, 'b@example.com', 'other')
    await first.stop()
    app = await startServe({ cwd: folder.path, args: ['--allow-net', 'loopback', '--pbx', pbx] })
  })
  afterAll(async () => {
    await app.stop()
    await replay.stop()
    receiver.stop()
    folder[Symbol.dispose]()
  })

  test('needs a token, and reports that in the envelope', async () => {
    const { status, body } = await ask(app, 'GET', '/stream')
    expect([status, body.status]).toEqual([401, 'error'])
  })

  test('sends calls, events and deliveries as they move, to the account that they belong to and to no other', async () => {
    await ask(app, 'PUT', '/integration/webhook', { token, body: [webhook(receiver.url)] })
    const mine = await follow(app, token)
    const theirs = await follow(app, stranger)
    expect(mine.response.headers.get('content-type')).toBe('text/event-stream')
    followed.resolve()
    await until('the call was saved', () => mine.of('event').some((body) => body.data.name === 'call_saved'))
    const ids = new Set(mine.of('event').map((body) => body.data.id))
    const delivered = () => mine.of('delivery').filter((one) => one.state === 'delivered' && ids.has(one.event_id))
    await until('its deliveries were sent', () => delivered().length >= ids.size)
    const states = mine.of('call').map((call) => call.state)
    expect(states.at(-1)).toBe('ended')
    expect(mine.of('call')[0]).toHaveProperty('pbx_id')
    const sent = receiver.received.map((one) => one.body)
    for (const { name, data } of mine.messages) if (name === 'event') expect(sent).toContain(data)
    expect(theirs.messages).toEqual([])
    mine.drop()
    theirs.drop()
  })

  test('the overview counts what happened, for its account alone', async () => {
    const own = JSON.stringify((await ask(app, 'GET', '/overview', { token })).body.result)
    expect(own).toContain('"name":"office"')
    expect(JSON.parse(own).minutes.reduce((sum: number, one: { events: number }) => sum + one.events, 0)).toBe(6)
    expect(JSON.parse(own).webhooks).toMatchObject([
      { url: receiver.url, down_since: null, refusing_since: null, pending: 0, last: { status: 200 } },
    ])
    const foreign = JSON.stringify((await ask(app, 'GET', '/overview', { token: stranger })).body.result)
    expect(JSON.parse(foreign)).toMatchObject({ account: 'other', calls: [], pbxs: [], webhooks: [] })
    expect(foreign).not.toContain('"events":6')
  })

  test('the last hour of a webhook is for its account alone', async () => {
    const path = `/overview/webhook?url=${encodeURIComponent(receiver.url)}`
    const { body } = await ask(app, 'GET', path, { token })
    const minutes = body.result as { delivered: number }[]
    expect(minutes.reduce((sum, one) => sum + one.delivered, 0)).toBe(6)
    expect((await ask(app, 'GET', path, { token: stranger })).status).toBe(404)
    expect((await ask(app, 'GET', `${path}&occurrence=1`, { token })).status).toBe(404)
    // As many as a list may have; the column holds no number without bounds.
    expect((await ask(app, 'GET', `${path}&occurrence=100`, { token })).status).toBe(422)
    expect((await ask(app, 'GET', '/overview/webhook', { token })).status).toBe(422)
  })

  test('who got the events of a call is for its account alone', async () => {
    const id: string = JSON.parse(receiver.received[0]?.body ?? '').data.call.id
    const listed = JSON.stringify((await ask(app, 'GET', `/call/${id}/event`, { token })).body.result)
    expect(JSON.parse(listed).map((event: { sequence: number }) => event.sequence)).toEqual([1, 2, 3, 4, 5, 6])
    expect((await ask(app, 'GET', `/call/${id}/event`, { token: stranger })).body.result).toEqual([])
  })

  test('one account cannot take the streams of another', async () => {
    let open: Awaited<ReturnType<typeof follow>>[] = []
    await until('64 are open, and those of earlier tests are closed', async () => {
      open = await Promise.all(Array.from({ length: 65 }, () => follow(app, token)))
      const refused = open.filter(({ response }) => response.status === 429).length
      expect(refused).toBeGreaterThan(0)
      if (refused === 1) return true
      for (const stream of open) stream.drop()
      await Promise.all(open.map(({ ended }) => ended))
      return false
    })
    const theirs = await follow(app, stranger)
    expect(theirs.response.status).toBe(200)
    for (const stream of [...open, theirs]) stream.drop()
    await Promise.all(open.map(({ ended }) => ended))
    await until('a place is free again', async () => {
      const again = await follow(app, token)
      again.drop()
      return again.response.status === 200
    })
  })

  test('a stream ends with the service', async () => {
    const mine = await follow(app, token)
    await until('it is open', () => mine.text().includes(':'))
    await app.stop()
    await mine.ended
  })
})

const messageBytes = (name: string, data: string) => new TextEncoder().encode(messageOf(name, data))

/** Messages of 10 kB; the first takes longer to make than a slice may. */
function* heavy(count: number) {
  const untilMs = performance.now() + 10
  while (performance.now() < untilMs);
  for (let n = 0; n < count; n += 1) yield { name: 'call', data: `"${n} ${'x'.repeat(10_000)}"` }
}

describe('one reader', () => {
  test('is cut off if it falls behind, and costs at most its limit of waiting data', async () => {
    let closed = 0
    const sink = openSink({ closed: () => void closed++ })
    for (let sent = 0; sent < 3_000; sent++) sink.send(messageBytes('event', 'x'.repeat(1_000)))
    expect(closed).toBe(1)
    expect(await new Response(sink.body).text()).toBe('')
  })

  test('gets together what came while it was away', async () => {
    const sink = openSink({ closed: () => {} })
    sink.comment('hello')
    sink.send(messageBytes('call', '{"a":1}'))
    const reader = sink.body.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(': hello\n\nevent: call\ndata: {"a":1}\n\n')
    const next = reader.read()
    sink.send(messageBytes('call', '2'))
    expect(new TextDecoder().decode((await next).value)).toBe('event: call\ndata: 2\n\n')
    const last = reader.read()
    sink.close()
    expect((await last).done).toBe(true)
  })

  test('is forgotten when it leaves', async () => {
    let closed = 0
    const sink = openSink({ closed: () => void closed++ })
    await sink.body.cancel()
    sink.send(messageBytes('call', '1'))
    expect(closed).toBe(1)
  })

  test('gets at its own pace how things are, however much that is, and between it what comes meanwhile', async () => {
    const sink = openSink({ first: heavy(300), closed: () => {} })
    const reader = sink.body.getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    const parts = [await read()]
    sink.send(messageBytes('event', 'meanwhile'))
    while (!parts.at(-1)?.includes('"299 ')) parts.push(await read())
    expect(parts[1]).toStartWith('event: event\ndata: meanwhile\n\nevent: call')
    const sent: string[] = []
    const decode = createEventStreamDecoder(
      ({ name, data }) => void (name === 'call' && sent.push(data.slice(1).split(' ', 1).join())),
    )
    decode(parts.join(''))
    expect(sent).toEqual(Array.from({ length: 300 }, (_, n) => String(n)))
    await reader.cancel()
  })

  test('gets what is older than a part of the present state before that part', async () => {
    const queued = ['older']
    const sink = openSink({
      first: [{ name: 'call', data: 'present' }].values(),
      beforeFirst: () => queued.splice(0).forEach((data) => void sink.send(messageBytes('call', data))),
      closed: () => {},
    })
    const reader = sink.body.getReader()
    const both = messageOf('call', 'older') + messageOf('call', 'present')
    expect(new TextDecoder().decode((await reader.read()).value)).toBe(both)
    await reader.cancel()
  })

  test('to which the state cannot be sent is let go', async () => {
    let closed = 0
    const broken = (function* () {
      yield { name: 'call', data: '1' }
      throw new Error('broken')
    })()
    const sink = openSink({ first: broken, closed: () => void closed++ })
    expect(new Response(sink.body).text()).rejects.toThrow('broken')
    await until('it was let go', () => closed === 1)
  })
})
