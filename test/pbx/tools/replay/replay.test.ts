import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eslSteps } from '../../../../src/pbx/esl/replay/snapshot.ts'
import { readRecording } from '../../../../src/pbx/recorded/recording.ts'
import { parsePbxUrl } from '../../../../src/pbx/source/pbx-url.ts'
import { checkPbx } from '../../../../src/pbx/tools/check.ts'
import { recordConnection } from '../../../../src/pbx/tools/record.ts'
import { startReplay } from '../../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../../../help/app.ts'
import { callsOf } from '../../../help/cluster-parts.ts'
import { keepForTest } from '../../../help/kept.ts'
import { fixture, watchPbx } from '../../../help/pbx.ts'
import { until } from '../../../help/receiver.ts'

const kept = keepForTest()
const FAST = Number.POSITIVE_INFINITY
const amiUrl = (port: number): string => `ami://any:any@127.0.0.1:${port}?name=office`
const eslUrl = (port: number): string => `esl://:any@127.0.0.1:${port}?name=office`
function source(url: string) {
  const parsed = parsePbxUrl(url)
  if ('wrong' in parsed) throw new Error(parsed.wrong)
  return parsed.pbx
}

describe('a replayed PBX', () => {
  test('keeps the time of the recording, divided by the speed', async () => {
    const replay = kept(startReplay({ files: [fixture('d-inbound-busy.ami')], speed: 20 }))
    const startMs = performance.now()
    kept(watchPbx(amiUrl(replay.port)))
    await replay.finished
    const tookMs = performance.now() - startMs
    const lines = readFileSync(fixture('d-inbound-busy.ami').replace('.ami', '.timing'), 'utf8').trim().split('\n')
    const realMs = Number(lines.at(-1)?.split(' ').at(-1))
    expect(tookMs).toBeGreaterThan((realMs / 20) * 0.8)
  })

  test.each([
    ['one connection, where all is over at its end', ['d-inbound-busy.ami'], 'ami' as const],
    ['one connection of FreeSWITCH', ['recorded-transfer.esl'], 'esl' as const],
    ['several connections, in their order', ['d-inbound-busy.ami', 'a-inbound-answered.ami'], 'ami' as const],
  ])('plays again and again: %s', async (_, names, kind) => {
    const files = names.map(fixture)
    const replay = kept(startReplay({ files, speed: FAST, againAfterMs: 10 }))
    kept(watchPbx(kind === 'ami' ? amiUrl(replay.port) : eslUrl(replay.port)))
    await until('three rounds are played', () => replay.played() >= 3 * replay.events)
    expect(replay.clients()).toBeLessThanOrEqual(1)
  })

  test('goes on for the others when a client that does not read leaves', async () => {
    const replay = kept(startReplay({ files: [callsOf(1_000, 3, { firstCall: 0 })], speed: FAST }))
    const silent = await Bun.connect({
      hostname: '127.0.0.1',
      port: replay.port,
      socket: {
        open: (socket) => void socket.write('Action: Login\r\nUsername: any\r\nSecret: any\r\nEvents: on\r\n\r\n'),
        data: (socket) => void socket.pause(),
      },
    })
    await until('it is logged in', () => replay.clients() === 1)
    kept(watchPbx(amiUrl(replay.port)))
    let before = 0
    await until('it is waited for', async () => {
      const isWaiting = replay.clients() === 2 && replay.played() === before
      before = replay.played()
      await Bun.sleep(100)
      return isWaiting
    })
    expect(replay.played()).toBeLessThan(replay.events)
    silent.terminate()
    await replay.finished
    expect(replay.played()).toBe(replay.events)
  })

  test('waits while nobody is logged in, and goes on with the next client', async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>()
    const holds = [{ atMs: 700, until: promise }]
    const replay = kept(startReplay({ files: [fixture('d-inbound-busy.ami')], speed: FAST, holds }))
    const first = watchPbx(amiUrl(replay.port))
    await until('some events', () => first.entries.filter((entry) => entry.kind === 'event').length > 5)
    await first.stop()
    await until('nobody is logged in', () => replay.clients() === 0)
    const played = replay.played()
    expect(played).toBeLessThan(replay.events)
    release()
    await Bun.sleep(0)
    expect(replay.played()).toBe(played)
    const second = kept(watchPbx(amiUrl(replay.port)))
    await replay.finished
    await until('the last hangup', () =>
      second.entries.some((entry) => entry.kind === 'event' && entry.name === 'Hangup'),
    )
    expect(replay.played()).toBe(replay.events)
  })

  test('is cut at any event, and lists the channels of that moment', async () => {
    const replay = kept(
      startReplay({ files: [fixture('a-inbound-answered.ami')], speed: FAST, cut: { after: 60, missing: 5 } }),
    )
    const pbx = kept(watchPbx(amiUrl(replay.port)))
    await replay.finished
    await until('two connections', () => pbx.entries.filter((entry) => entry.kind === 'connected').length === 2)
    const again = pbx.entries.findIndex((entry) => entry.kind === 'disconnected') + 1
    await until('a list', () => pbx.entries.slice(again).some((entry) => entry.kind === 'list'))
    expect(pbx.entries[again + 1]).toMatchObject({ kind: 'list' })
  })

  test('lists no leg that FreeSWITCH destroyed before it was set up', () => {
    const { channels } = eslSteps(readRecording(fixture('gateway-unknown-then-trunk.esl')))
    expect(channels).toEqual([])
  })

  test('gives FreeSWITCH events only to whom they were promised', async () => {
    const replay = kept(startReplay({ files: [fixture('internal-json.esl')], speed: FAST }))
    const pbx = kept(watchPbx(eslUrl(replay.port)))
    await until(
      'the end',
      () => pbx.entries.filter((entry) => entry.kind === 'event' && entry.name === 'CHANNEL_DESTROY').length === 2,
    )
    const names = new Set(pbx.entries.flatMap((entry) => (entry.kind === 'event' ? [entry.name] : [])))
    expect([...names].filter((name) => /EXECUTE|STATE|CODEC|PRESENCE/.test(name))).toEqual([])
  })

  test.each([
    ['o-ivr-no-dial.ami', amiUrl],
    ['no-such-extension.esl', eslUrl],
  ])('%s recorded from it can be played again', async (name, url) => {
    using folder = emptyFolder()
    const path = join(folder.path, name)
    const replay = kept(startReplay({ files: [fixture(name)], speed: FAST }))
    const record = recordConnection(source(url(replay.port)), path)
    await replay.finished
    await until('the bytes', () => record.bytes() > 5_000)
    record.stop()
    expect(await record.ended).toBeUndefined()
    expect(readFileSync(`${path}.timing`, 'utf8')).toMatch(/^0 \d+\n/)
    const again = kept(startReplay({ files: [path], speed: FAST }))
    const [one, two] = [kept(watchPbx(url(again.port))), kept(watchPbx(url(again.port)))]
    await again.finished
    expect(again.events).toBeGreaterThan(3)
    await until('both were sent', () => one.status().state === 'up' && two.status().state === 'up')
  })

  test.each([
    [
      'f-outbound-answered.ami',
      amiUrl,
      ['trunks: PJSIP/trunk (dialled by the dialplan with a number)', 'phones: PJSIP/101 (member of a queue)'],
    ],
    [
      'q-voicemail.ami',
      amiUrl,
      [
        'phones: PJSIP/101 (member of a queue)',
        'undecided: PJSIP/trunk: calls will show what they are, or name it in trunks=',
      ],
    ],
    [
      'outbound-answered.esl',
      eslUrl,
      ['trunks: trunk (registration with a provider, or a gateway)', 'phones: 1001 (user of the directory)'],
    ],
    ['in-short-116117.esl', eslUrl, ['phones: 1002 (user of the directory)']],
  ])('check of %s lists its trunks and phones', async (name, url, lines) => {
    const replay = kept(startReplay({ files: [fixture(name)], speed: FAST }))
    const texts = (await checkPbx(source(url(replay.port)), 0)).map(({ text }) => text)
    for (const line of lines) expect(texts.filter((text) => text.startsWith(line))).toHaveLength(1)
  })

  test('check calls the gateways of a FreeSWITCH as its URL does', async () => {
    const replay = kept(startReplay({ files: [fixture('outbound-answered.esl')], speed: FAST }))
    const findings = await checkPbx(source(`${eslUrl(replay.port)}&gateways=trunk:Carrier%20One`), 0)
    expect(findings.map(({ text }) => text)).toContainEqual(expect.stringMatching(/^trunks: trunk Carrier One \(/))
  })

  test('requests without an answer in the recording are refused, as for a user without the right', async () => {
    const replay = kept(startReplay({ files: [fixture('k5-blind-transfer-call-class-only.ami')], speed: FAST }))
    const findings = await checkPbx(source(amiUrl(replay.port)), 0)
    const text = findings.map((finding) => finding.text).find((one) => one.startsWith('it does not list'))
    expect(text).toMatch(/the extensions.*the mailboxes.*ShowDialPlan\): add write = reporting$/)
  })

  test('check prints the facts of a PBX', async () => {
    const replay = kept(startReplay({ files: [fixture('a4-timestampevents.ami')], speed: FAST }))
    const findings = await checkPbx(source(amiUrl(replay.port)), 50)
    const levels = findings.map(({ level }) => level)
    expect(levels).not.toContain('missing')
    expect(findings.some(({ text }) => text.includes('timestampevents'))).toBe(false)
    const nobody = await checkPbx(source('esl://:ClueCon@127.0.0.1:1'), 1)
    expect(nobody).toEqual([
      { level: 'missing', text: expect.stringMatching(/^cannot connect to 127.0.0.1:1: connection refused: /) },
    ])
  })
})
