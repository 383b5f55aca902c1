import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { amiEvent, snapshotOf } from '../../help/ami-event.ts'
import { emptyFolder } from '../../help/app.ts'
import { certify } from '../../help/certificate.ts'
import { keepForTest } from '../../help/kept.ts'
import { actionId, actionName, ami, fixture, startScripted, watchPbx } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const GREETING = 'Asterisk Call Manager/11.0.0\r\n'
const kept = keepForTest()
const url = (port: number, query = ''): string => `ami://watcher:secret@127.0.0.1:${port}?name=office${query}`

/** An Asterisk that lets us in, and answers the rest as given. */
const letIn = (answer: (block: string, send: (text: string) => void, close: () => void) => void) =>
  kept(
    startScripted({
      greeting: GREETING,
      answer(block, send, close) {
        const id = actionId(block)
        const name = actionName(block)
        if (name === 'Challenge') send(ami(`Response: Success\nActionID: ${id}\nChallenge: 42`))
        else if (name === 'Login') send(ami(`Response: Success\nActionID: ${id}\nMessage: Authentication accepted`))
        else if (name === 'CoreStatus') send(ami(`Response: Error\nActionID: ${id}\nMessage: Permission denied`))
        else answer(block, send, close)
      },
    }),
  )
const emptyList = (id: string, name: string): string =>
  ami(`Response: Success\nActionID: ${id}\nEventList: start\nMessage: will follow`) +
  ami(`Event: ${name}Complete\nActionID: ${id}\nEventList: Complete\nListItems: 0`)

const oneHint = (id: string): string =>
  ami(`Response: Success\nActionID: ${id}\nEventList: start\nMessage: will follow`) +
  ami(`Event: ExtensionStatus\nActionID: ${id}\nExten: 101\nContext: any\nHint: PJSIP/101\nStatus: 0`) +
  ami(`Event: ExtensionStateListComplete\nActionID: ${id}\nEventList: Complete\nListItems: 1`)

describe('an Asterisk is watched', () => {
  test('from login to the last event: connected, the list, then each event once', async () => {
    const replay = kept(startReplay({ files: [fixture('a-inbound-answered.ami')], speed: Number.POSITIVE_INFINITY }))
    const pbx = kept(watchPbx(url(replay.port)))
    await until(
      'the last hangup',
      () => pbx.entries.filter((entry) => entry.kind === 'event' && entry.name === 'Hangup').length === 2,
    )
    expect(pbx.entries[0]).toMatchObject({ kind: 'connected', first: true, boot: expect.any(String) })
    expect(pbx.entries[1]?.kind).toBe('list')
    const names = pbx.entries.flatMap((entry) => (entry.kind === 'event' ? [entry.name] : []))
    expect(names.filter((name) => /^(Newchannel|Dial|Bridge[EL]|Hangup$)/.test(name))).toEqual([
      'Newchannel',
      'Newchannel',
      'DialBegin',
      'DialState',
      'DialEnd',
      'BridgeEnter',
      'BridgeEnter',
      'BridgeLeave',
      'Hangup',
      'BridgeLeave',
      'Hangup',
    ])
    expect(names).not.toContain('DeviceStateChange')
    expect(pbx.status()).toMatchObject({
      name: 'office',
      kind: 'asterisk',
      state: 'up',
      taints: 0,
      overruns: 0,
      lastError: null,
    })
  })

  test('a lost connection is made again, and the channels are requested, twice', async () => {
    const files = [fixture('t-reconnect.ami'), fixture('t2-reconnect-resync.ami')]
    const again = Promise.withResolvers<void>()
    const replay = kept(startReplay({ files, speed: 20, holds: [{ file: 1, atMs: 0, until: again.promise }] }))
    const pbx = kept(watchPbx(url(replay.port)))
    // Both before the recording goes on: nobody answers a list after its end.
    await until('two lists of the second connection', () => {
      const lost = pbx.entries.findIndex((entry) => entry.kind === 'disconnected')
      return lost >= 0 && pbx.entries.slice(lost).filter((entry) => entry.kind === 'list').length >= 2
    })
    again.resolve()
    await replay.finished
    const connections = pbx.entries.filter((entry) => entry.kind !== 'event' && entry.kind !== 'list')
    const boot = expect.any(String)
    expect(connections).toEqual([
      { kind: 'connected', first: true, boot },
      { kind: 'disconnected' },
      { kind: 'connected', first: false, boot },
    ])
    const after = pbx.entries.slice(pbx.entries.findIndex((entry) => entry.kind === 'disconnected') + 1)
    expect(after[1]).toEqual({ kind: 'list', rows: ['1795213779.804', '1795213779.805'] })
    // Both connections were to the same run of Asterisk.
    const boots = connections.flatMap((entry) => (entry.kind === 'connected' ? [entry.boot] : []))
    expect(boots[0]).toBe(boots[1] ?? '')
  })

  test('a restarted Asterisk is another one', async () => {
    const files = [fixture('z-restart.ami'), fixture('z2-after-restart.ami')]
    const replay = kept(startReplay({ files, speed: Number.POSITIVE_INFINITY }))
    const pbx = kept(watchPbx(url(replay.port)))
    await until('the second connection', () => pbx.entries.filter((entry) => entry.kind === 'connected').length === 2)
    const boots = pbx.entries.flatMap((entry) => (entry.kind === 'connected' ? [entry.boot] : []))
    expect(boots[0]).not.toBe(boots[1] ?? '')
  })

  test('wrong credentials are refused for long, and the log reports that without the secret', async () => {
    const refusing = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send, close) {
          const id = actionId(block)
          if (actionName(block) === 'Challenge') return send(ami(`Response: Success\nActionID: ${id}\nChallenge: 42`))
          send(ami(`Response: Error\nActionID: ${id}\nMessage: Authentication failed`))
          close()
        },
      }),
    )
    const pbx = kept(watchPbx(url(refusing.port), { firstMs: 1 }))
    await until('refused', () => pbx.status().state === 'refused')
    const entry = pbx.logged.find(({ level }) => level === 'error')
    expect(Number(entry?.fact.retryInSeconds)).toBeGreaterThanOrEqual(60)
    expect(entry?.fact.reason).toContain('refuses the user watcher: Authentication failed')
    expect(JSON.stringify(pbx.logged)).not.toContain('secret')
    expect(refusing.connections()).toBe(1)
    expect(pbx.entries).toEqual([])
  })

  test('the secret is never sent, only the answer to the challenge', async () => {
    const blocks: string[] = []
    const server = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          blocks.push(block)
          send(ami(`Response: Success\nActionID: ${actionId(block)}\nChallenge: 42`))
        },
      }),
    )
    kept(watchPbx(url(server.port)))
    await until('a login', () => blocks.some((block) => actionName(block) === 'Login'))
    const login = blocks.find((block) => actionName(block) === 'Login')
    expect(login).toContain(`Key: ${new Bun.CryptoHasher('md5').update('42secret').digest('hex')}`)
    expect(blocks.join('')).not.toContain('secret')
  })

  test('without a challenge nothing is sent plainly', async () => {
    const blocks: string[] = []
    const server = kept(
      startScripted({
        greeting: GREETING,
        answer(block, send) {
          blocks.push(block)
          send(ami(`Response: Error\nActionID: ${actionId(block)}\nMessage: Must specify AuthType`))
        },
      }),
    )
    const pbx = kept(watchPbx(url(server.port)))
    await until('refused', () => pbx.status().state === 'refused')
    expect(blocks.map(actionName)).toEqual(['Challenge'])
    expect(pbx.status().lastError).toContain('amis://')
  })

  test.each([
    ['Asterisk 11', '1.3'],
    ['Asterisk 13.4', '2.7.0'],
  ])('%s is refused with the version that is needed: its events name no call', async (_, version) => {
    const names: string[] = []
    const old = kept(
      startScripted({
        greeting: `Asterisk Call Manager/${version}\r\n`,
        answer(block, send) {
          names.push(actionName(block))
          send(ami(`Response: Success\nActionID: ${actionId(block)}\nChallenge: 42`))
        },
      }),
    )
    const pbx = kept(watchPbx(url(old.port)))
    await until('refused', () => pbx.status().state === 'refused')
    expect(pbx.status().lastError).toBe(
      'its Asterisk is older than 13.5, and its events do not state which channels belong to one call: upgrade it ' +
        `(Asterisk Call Manager/${version})`,
    )
    expect(names).toEqual(['Challenge'])
  })

  test('a PBX that accepts and sends nothing is tried again', async () => {
    const silent = kept(startScripted({}))
    const pbx = kept(watchPbx(url(silent.port), { replyMs: 30 }))
    await until('three tries', () => silent.connections() >= 3 && pbx.status().state === 'down')
    expect(pbx.status().lastError).toBe('Challenge is not answered')
  })

  test('a PBX that falls silent is pinged twice, and left', async () => {
    let pings = 0
    const server = letIn((block, send) => {
      if (actionName(block) === 'Status') send(emptyList(actionId(block), 'Status'))
      if (actionName(block) === 'Ping') pings += 1
    })
    const pbx = kept(watchPbx(url(server.port), { replyMs: 30, idleMs: 40 }))
    await until('it is left', () => pbx.logged.some(({ fact }) => String(fact.reason).includes('two pings')))
    expect(pings).toBeGreaterThanOrEqual(2)
    await until('a second connection', () => server.connections() >= 2)
  })

  test('garbage ends the connection, and it is made again', async () => {
    const server = kept(startScripted({ greeting: GREETING, answer: (_, send) => send('x'.repeat(70_000)) }))
    const pbx = kept(watchPbx(url(server.port), { replyMs: 50 }))
    await until('a second connection', () => server.connections() >= 2)
    expect(pbx.status().state).not.toBe('up')
  })

  test('a PBX that is not there is tried for ever', async () => {
    const server = startScripted({})
    server.stop()
    const pbx = kept(watchPbx(url(server.port)))
    await until('three failures', () => pbx.logged.filter(({ level }) => level === 'warn').length >= 3)
    expect(pbx.status().lastError).toContain('connection refused')
  })

  test('when Status is denied, CoreShowChannels is requested; when both are denied, events flow and the log names the missing right', async () => {
    for (const [allowed, lists] of [
      ['CoreShowChannels', 1],
      ['none', 0],
    ] as const) {
      const server = letIn((block, send) => {
        const id = actionId(block)
        if (actionName(block) === allowed) send(emptyList(id, allowed))
        else send(ami(`Response: Error\nActionID: ${id}\nMessage: Permission denied`))
        send(amiEvent('Newchannel', snapshotOf('1.1')))
      })
      const pbx = kept(watchPbx(url(server.port)))
      await until('an event', () => pbx.entries.some((entry) => entry.kind === 'event'))
      expect(pbx.entries.filter((entry) => entry.kind === 'list').length).toBeGreaterThanOrEqual(lists)
      expect(pbx.logged.some(({ message }) => message.includes('write = reporting'))).toBe(lists === 0)
    }
  })

  test('a forged event is not believed: it is counted, and the channels are requested again', async () => {
    let lists = 0
    const server = letIn((block, send) => {
      if (actionName(block) !== 'Status') return
      send(emptyList(actionId(block), 'Status'))
      lists += 1
      if (lists === 2) send(ami('Event: Hangup\nPrivilege: call,all\nUniqueid: 1.1\nUniqueid: 2.2\nLinkedid: 1.1'))
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('two more lists', () => lists >= 4)
    expect(pbx.status().taints).toBe(1)
    expect(pbx.entries.some((entry) => entry.kind === 'event')).toBe(false)
  })

  test('an event on which we fail is lost alone: it is counted and logged, and the channels are requested', async () => {
    let lists = 0
    const server = letIn((block, send) => {
      if (actionName(block) !== 'Status') return
      send(emptyList(actionId(block), 'Status'))
      lists += 1
      if (lists === 2)
        send(
          amiEvent('Newchannel', snapshotOf('1.1')) +
            amiEvent('Hold', snapshotOf('1.1')).repeat(3) +
            amiEvent('Hangup', snapshotOf('1.1'), { Cause: 16 }),
        )
    })
    const pbx = kept(watchPbx(url(server.port), {}, { failsAt: 'Hold' }))
    await until('two more lists', () => lists >= 4)
    expect(pbx.status().faults).toBe(3)
    const names = pbx.entries.flatMap((entry) => (entry.kind === 'event' ? [entry.name] : []))
    expect(names).toEqual(['Newchannel', 'Hangup'])
    expect(pbx.logged.filter(({ level }) => level === 'error').length).toBe(1)
  })

  test('calls wait until an unknown PBX has sent its configuration', async () => {
    const asked: string[] = []
    const server = letIn((block, send) => {
      const name = actionName(block)
      asked.push(name)
      if (name === 'Status') send(emptyList(actionId(block), 'Status') + amiEvent('Newchannel', snapshotOf('1.1')))
      else if (name === 'ExtensionStateList') send(oneHint(actionId(block)))
      else send(ami(`Response: Error\nActionID: ${actionId(block)}\nMessage: Permission denied`))
    })
    const pbx = kept(watchPbx(url(server.port), { inventoryMs: 60_000 }))
    await until('the event', () => pbx.entries.some((entry) => entry.kind === 'event'))
    expect(asked).toContain('ShowDialPlan')
    expect(pbx.endpoints().map(({ name, kind }) => [name, kind])).toEqual([['PJSIP/101', 'extension']])
  })

  test('the first list knows the events that came before it, which are read after it', async () => {
    const server = letIn((block, send) => {
      const list = emptyList(actionId(block), 'Status')
      if (actionName(block) === 'Status') send(amiEvent('Hangup', snapshotOf('1.1'), { Cause: 16 }) + list)
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('another list', () => pbx.earlier.length >= 2)
    expect(pbx.entries.slice(1, 3).map(({ kind }) => kind)).toEqual(['list', 'event'])
    expect(pbx.earlier.slice(0, 2)).toEqual([['Hangup'], []])
  })

  test('a PBX that sends no configuration is watched all the same', async () => {
    const server = letIn((block, send) => {
      if (actionName(block) === 'Status')
        send(emptyList(actionId(block), 'Status') + amiEvent('Newchannel', snapshotOf('1.1')))
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('the event', () => pbx.entries.some((entry) => entry.kind === 'event'))
  })

  test('a PBX that did not send its configuration is not waited for again, by another process either', async () => {
    const server = letIn((block, send) => {
      if (actionName(block) === 'Status')
        send(emptyList(actionId(block), 'Status') + amiEvent('Newchannel', snapshotOf('1.1')))
    })
    const first = kept(watchPbx(url(server.port)))
    await until('the event', () => first.entries.some((entry) => entry.kind === 'event'))
    const next = kept(watchPbx(url(server.port), { inventoryMs: 3_600_000 }, { saved: first.saved() }))
    await until('the event', () => next.entries.some((entry) => entry.kind === 'event'))
  })

  test('after a reload the configuration is requested again', async () => {
    let lists = 0
    const server = letIn((block, send) => {
      const name = actionName(block)
      if (name === 'Status') return send(emptyList(actionId(block), 'Status'))
      if (name === 'ExtensionStateList') lists += 1
      send(ami(`Response: Error\nActionID: ${actionId(block)}\nMessage: Permission denied`))
      if (name === 'ShowDialPlan' && lists === 1)
        send(ami('Event: Reload\nPrivilege: system,all\nModule: All\nStatus: 0'))
    })
    kept(watchPbx(url(server.port), { reloadMs: 1, inventoryMinMs: 1 }))
    await until('it is asked again', () => lists >= 2)
  })

  test('a list that is not whole is asked for again, and never handed on', async () => {
    let lists = 0
    const server = letIn((block, send) => {
      if (actionName(block) !== 'Status') return
      lists += 1
      send(
        lists === 1
          ? emptyList(actionId(block), 'Status').replace('ListItems: 0', 'ListItems: 3')
          : emptyList(actionId(block), 'Status'),
      )
    })
    const pbx = kept(watchPbx(url(server.port)))
    await until('a list', () => pbx.entries.some((entry) => entry.kind === 'list'))
    expect(lists).toBeGreaterThanOrEqual(2)
  })

  test('over TLS: a certificate that is not trusted is refused, its own CA is enough, another name is not', async () => {
    using folder = emptyFolder()
    const make = async (name: string) => {
      const made = certify([name])
      const path = join(folder.path, `${name}.pem`)
      await Bun.write(path, made.cert)
      return { ...made, path }
    }
    const right = await make('127.0.0.1')
    const wrong = await make('elsewhere.example')
    const files = [fixture('o-ivr-no-dial.ami')]
    for (const [tls, ca, state] of [
      [right, right, 'up'],
      [right, undefined, 'down'],
      [right, wrong, 'down'],
      [wrong, wrong, 'down'],
    ] as const) {
      const replay = kept(startReplay({ files, tls }))
      const query = ca === undefined ? '' : `&ca=${encodeURIComponent(ca.path)}`
      const pbx = kept(watchPbx(url(replay.port, query).replace('ami:', 'amis:')))
      await until(`${state}: ${pbx.status().lastError}`, () => pbx.status().state === state)
      if (state === 'down') expect(pbx.status().lastError).toMatch(/certificate|cert/i)
    }
  })
})
