import { describe, expect, test } from 'bun:test'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { keepForTest } from '../../help/kept.ts'
import { fixture, startScripted, watchPbx } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const kept = keepForTest()
const url = (port: number, user = ''): string => `esl://${user}:secret@127.0.0.1:${port}?name=office`
const GREETING = 'Content-Type: auth/request\n\n'
const reply = (text: string): string => `Content-Type: command/reply\nReply-Text: ${text}\n\n`
const response = (body: string): string =>
  `Content-Type: api/response\nContent-Length: ${Buffer.byteLength(body)}\n\n${body}`
const event = (name: string): string => {
  const body = JSON.stringify({ 'Event-Name': name, 'Unique-ID': '1' })
  return `Content-Length: ${body.length}\nContent-Type: text/event-json\n\n${body}`
}

/** A FreeSWITCH that lets us in, and answers `api` as given. */
const letIn = (api: (command: string, send: (text: string) => void) => void) =>
  kept(
    startScripted({
      greeting: GREETING,
      answer(block, send) {
        if (block.startsWith('api')) api(block, send)
        else send(reply('+OK'))
      },
    }),
  )

describe('a FreeSWITCH is watched', () => {
  test.each(['inbound-answered', 'inbound-answered-json'])('%s, from login to the last event', async (name) => {
    const replay = kept(startReplay({ files: [fixture(`${name}.esl`)], speed: Number.POSITIVE_INFINITY }))
    const pbx = kept(watchPbx(url(replay.port)))
    const count = (wanted: string) =>
      pbx.entries.filter((entry) => entry.kind === 'event' && entry.name === wanted).length
    await until('both have hung up', () => count('CHANNEL_HANGUP_COMPLETE') === 2)
    expect(pbx.entries[0]).toMatchObject({ kind: 'connected', first: true, boot: expect.any(String) })
    expect(pbx.entries[1]?.kind).toBe('list')
    expect([count('CHANNEL_CREATE'), count('CHANNEL_ANSWER'), count('CHANNEL_EXECUTE')]).toEqual([2, 2, 0])
    expect(pbx.status()).toMatchObject({ name: 'office', kind: 'freeswitch', state: 'up', overruns: 0 })
  })

  test.each([
    [
      'accepts filters',
      '+OK filter added.',
      ['filter', 'filter', 'event json CHANNEL_EXECUTE CHANNEL_EXECUTE_COMPLETE'],
    ],
    ['refuses a filter', '-ERR command not found', ['filter']],
  ])('a FreeSWITCH that %s sends the events of no other application than bridge', async (_, answer, expected) => {
    const seen: string[] = []
    const pbx = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          const isOfApplications = block.startsWith('filter') || block.includes('CHANNEL_EXECUTE_COMPLETE')
          if (isOfApplications) seen.push(block.startsWith('filter') ? 'filter' : block.trim())
          if (block.startsWith('api')) send(response('{"row_count":0}'))
          else send(reply(block.startsWith('filter') ? answer : '+OK'))
        },
      }),
    )
    kept(watchPbx(url(pbx.port)))
    await until('all of them', () => seen.length === expected.length)
    expect(seen).toEqual(expected)
  })

  test('a FreeSWITCH that sends much while its configuration is awaited is understood all the same', async () => {
    // More than may wait beside a tracker that does not take it yet.
    const events = event('CHANNEL_CALLSTATE').repeat(20_000)
    const pbx = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          const job = /^Job-UUID: (.*)$/m.exec(block)?.[1]
          if (block.startsWith('api')) return send(response('{"row_count":0}'))
          send(reply('+OK'))
          if (job === undefined) return
          const body = JSON.stringify({ 'Event-Name': 'BACKGROUND_JOB', 'Job-UUID': job, _body: '+OK' })
          send(`${events}Content-Length: ${body.length}\nContent-Type: text/event-json\n\n${body}`)
        },
      }),
    )
    const watched = kept(watchPbx(url(pbx.port), { inventoryMs: 600_000 }))
    await until('its configuration is known', () => watched.saved().inventory !== null)
    await until('the events follow', () => watched.entries.at(-1)?.kind === 'event')
    expect(watched.entries.slice(0, 2)).toMatchObject([{ kind: 'connected' }, { kind: 'list' }])
  })

  test('a list that is awaited while the configuration is given up is not lost', async () => {
    const asked = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    let lists = 0
    // The second half of the second list, and all that follows it, comes later.
    let isHeld = false
    const server = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          if (block.startsWith('api show channels')) lists += 1
          isHeld ||= lists === 2 && block.startsWith('api show calls')
          const answer = block.startsWith('api') ? response('{"row_count":0}') : reply('+OK')
          if (!isHeld) return send(answer)
          asked.resolve()
          void released.then(() => send(answer))
        },
      }),
    )
    const pbx = kept(watchPbx(url(server.port), { inventoryMs: 50, snapshotAgainMs: 1 }))
    await asked.promise
    await until('the configuration is given up', () => pbx.states.some(({ kind }) => kind === 'connected'))
    release()
    await until('both lists', () => pbx.entries.filter(({ kind }) => kind === 'list').length >= 2)
  })

  test('a lost connection is made again, and the channels are requested, twice', async () => {
    const files = [fixture('reconnect-1.esl'), fixture('reconnect-2.esl')]
    const again = Promise.withResolvers<void>()
    const replay = kept(startReplay({ files, speed: 50, holds: [{ file: 1, atMs: 0, until: again.promise }] }))
    const pbx = kept(watchPbx(url(replay.port)))
    // Both before the recording goes on: nobody answers a list after its end.
    await until('two lists of the second connection', () => {
      const lost = pbx.entries.findIndex((entry) => entry.kind === 'disconnected')
      return lost >= 0 && pbx.entries.slice(lost).filter((entry) => entry.kind === 'list').length >= 2
    })
    again.resolve()
    await replay.finished
    const after = pbx.entries.slice(pbx.entries.findIndex((entry) => entry.kind === 'disconnected') + 1)
    const boot = '501b98a2-de76-440b-a390-7d2f7fdd0505'
    expect(after[0]).toEqual({ kind: 'connected', first: false, boot })
    expect(after[1]).toMatchObject({ kind: 'list' })
    expect(after[1]?.kind === 'list' && after[1].rows.length).toBe(4)
  })

  test.each([
    ['a wrong password', GREETING, '-ERR invalid', 'it refuses the password'],
    [
      'an access list',
      'Content-Type: text/rude-rejection\nContent-Length: 24\n\nAccess Denied, go away.\n',
      '',
      'access list',
    ],
  ])('%s refuses us for long, and the log reports that without the secret', async (_, greeting, text, reason) => {
    const refusing = kept(startScripted({ greeting, answer: (_block, send) => send(reply(text)) }))
    const pbx = kept(watchPbx(url(refusing.port)))
    await until('refused', () => pbx.status().state === 'refused')
    const entry = pbx.logged.find(({ level }) => level === 'error')
    expect(entry?.fact.retryInSeconds).toBeGreaterThanOrEqual(60)
    expect(entry?.fact.reason).toContain(reason)
    expect(JSON.stringify(pbx.logged)).not.toContain('secret')
  })

  test('a wrong password is logged once, though a goodbye comes with the refusal', async () => {
    const notice = 'Disconnected, goodbye.\nSee you at ClueCon! http://www.cluecon.com/\n'
    const goodbye = `Content-Type: text/disconnect-notice\nContent-Length: ${notice.length}\n\n${notice}`
    const refusing = kept(
      startScripted({
        greeting: GREETING,
        answer(_block, send, close) {
          send(reply('-ERR invalid') + goodbye)
          close()
        },
      }),
    )
    const pbx = kept(watchPbx(url(refusing.port)))
    await until('refused', () => pbx.status().state === 'refused')
    expect(pbx.logged.map(({ fact }) => fact.reason)).toEqual(['it refuses the password'])
    expect(refusing.connections()).toBe(1)
  })

  test('a user of its own logs in by userauth', async () => {
    const blocks: string[] = []
    const server = kept(startScripted({ greeting: GREETING, answer: (block) => void blocks.push(block) }))
    kept(watchPbx(url(server.port, 'crm%40pbx')))
    await until('a login', () => blocks.length > 0)
    expect(blocks[0]).toBe('userauth crm@pbx:secret')
  })

  test('replies are distinguished by their order, and events wait for the list', async () => {
    const server = letIn((command, send) => {
      send(event('CHANNEL_CREATE'))
      send(response(command.includes('global_getvar') ? 'nonsense' : '{"row_count":0}'))
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('the events', () => pbx.entries.filter((entry) => entry.kind === 'event').length >= 3)
    expect(pbx.entries.slice(0, 3)).toEqual([
      { kind: 'connected', first: true, boot: null },
      { kind: 'list', rows: [] },
      { kind: 'event', name: 'CHANNEL_CREATE', id: '1' },
    ])
    // Each reply came behind an event: the first list knows those that came before it, the next one has none before it.
    await until('another list', () => pbx.earlier.length >= 2)
    expect(pbx.earlier[0]?.length).toBeGreaterThanOrEqual(4)
    expect(new Set(pbx.earlier[0])).toEqual(new Set(['CHANNEL_CREATE']))
    expect(pbx.earlier[1]).toEqual([])
  })

  test('agents are read again after a command has changed which queue has them, and after no other command', async () => {
    const ran = (argument: string): string => {
      const body = JSON.stringify({
        'Event-Name': 'API',
        'API-Command': 'callcenter_config',
        'API-Command-Argument': argument,
      })
      return `Content-Length: ${body.length}\nContent-Type: text/event-json\n\n${body}`
    }
    const jobs: string[] = []
    let say: (text: string) => void = () => {}
    const server = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          say = send
          if (block.startsWith('bgapi')) {
            const [line = '', ...headers] = block.split('\n')
            jobs.push(line.replace('bgapi ', ''))
            const id = headers.join('\n').replace('Job-UUID: ', '')
            const body = JSON.stringify({ 'Event-Name': 'BACKGROUND_JOB', 'Job-UUID': id, _body: '-ERR no reply' })
            send(
              `${reply(`+OK Job-UUID: ${id}`)}Content-Length: ${body.length}\nContent-Type: text/event-json\n\n${body}`,
            )
          } else if (block.startsWith('api')) send(response('{"row_count":0}'))
          else send(block === 'event json API' ? reply('-ERR permission denied') : reply('+OK'))
        },
      }),
    )
    const pbx = kept(watchPbx(url(server.port), { statesAgainMs: 1 }))
    const lists = () => jobs.filter((job) => job === 'callcenter_config tier list').length
    await until('the lists', () => lists() === 1)
    await until('they are read', () => pbx.states.some(({ kind }) => kind === 'listed'))
    for (const argument of ['tier list', 'queue list', 'agent list', 'agent set status 101 Available'])
      say(ran(argument))
    say(ran('tier add sales@pbx.example 101@pbx.example 1 1'))
    await until('the lists again', () => lists() === 2)
    await until('they are read', () => pbx.states.filter(({ kind }) => kind === 'listed').length === 2)
    say(ran('queue reload sales@pbx.example'))
    await until('the lists once more', () => lists() === 3)
  })

  test('rows of the list that hold no text cost nothing but themselves', async () => {
    let lists = 0
    const server = letIn((command, send) => {
      if (command.startsWith('api show channels')) lists += 1
      const rows = [{ uuid: '00000000-0000-0000-0000-000000000001', presence_id: lists > 1 ? null : '' }]
      if (command.startsWith('api show')) send(response(JSON.stringify({ row_count: 1, rows })))
      else send(response(''))
    })
    const pbx = kept(watchPbx(`${url(server.port)}&tenants=domain`, { snapshotAgainMs: 10 }))
    await until('the list without text', () => pbx.entries.filter((entry) => entry.kind === 'list').length >= 2)
    expect([pbx.status().state, server.connections()]).toEqual(['up', 1])
  })

  test('without the right to list, events flow and the log names the missing right', async () => {
    const server = letIn((_, send) => {
      send(response('-ERR permission denied\n'))
      send(event('CHANNEL_CREATE'))
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('an event', () => pbx.entries.some((entry) => entry.kind === 'event'))
    expect(pbx.entries.some((entry) => entry.kind === 'list')).toBe(false)
    expect(pbx.logged.some(({ message }) => message.includes('api show'))).toBe(true)
  })

  test.each([
    ['that accepts and sends nothing', undefined],
    ['that does not answer', GREETING],
  ])('a PBX %s is tried again', async (_, greeting) => {
    const silent = kept(startScripted(greeting === undefined ? {} : { greeting }))
    const pbx = kept(watchPbx(url(silent.port), { connectMs: 20, replyMs: 20, heartbeatMs: 50 }))
    await until('three tries', () => silent.connections() >= 3 && pbx.status().state === 'down')
  })

  test('a connection without a heartbeat is left; a goodbye of a PBX that shuts down is understood', async () => {
    const quiet = letIn((_, send) => send(response('{"row_count":0}')))
    const one = kept(watchPbx(url(quiet.port), { heartbeatMs: 60 }))
    await until('it is left', () => one.logged.some(({ fact }) => fact.reason?.includes('no heartbeat')))
    await until('a second connection', () => quiet.connections() >= 2)

    const replay = kept(startReplay({ files: [fixture('pbx-stopped.esl')], speed: Number.POSITIVE_INFINITY }))
    const two = kept(watchPbx(url(replay.port)))
    await until('the goodbye', () => two.logged.some(({ fact }) => fact.reason?.includes('shut down')))
  })
})
