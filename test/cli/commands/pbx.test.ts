import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder } from '../../help/app.ts'
import { actionId, actionName, ami, fixture, startScripted } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

const MAIN = join(import.meta.dir, '../../../src/main.ts')

function start(args: string[], more: Record<string, string> = {}, input = '') {
  // The service's own variable is not of a command beside it.
  const env = { ...process.env, HOOKSWITCH_LISTEN: '127.0.0.1:1', ...more }
  const stdin = new Blob([input])
  return Bun.spawn([process.execPath, MAIN, 'pbx', ...args], { env, stdout: 'pipe', stderr: 'pipe', stdin })
}
const run = (...args: string[]) => runWith({}, '', ...args)
async function runWith(env: Record<string, string>, input: string, ...args: string[]) {
  const child = start(args, env, input)
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}

describe('hookswitch pbx', () => {
  test('check prints its findings, and exits with 0', async () => {
    const replay = startReplay({ files: [fixture('o-ivr-no-dial.ami')], speed: Number.POSITIVE_INFINITY })
    const { code, out } = await run('check', `ami://u:s@127.0.0.1:${replay.port}`, '--listen-for', '100ms', '--json')
    await replay.stop()
    expect(code).toBe(0)
    expect(JSON.parse(out)).toContainEqual({ level: 'ok', text: 'the user u may log in' })
  })

  test.each([
    ['esl://:x@127.0.0.1:1', /refused: is FreeSWITCH running .*event_socket\.conf\.xml/],
    ['ami://u:x@127.0.0.1:1', /refused: is Asterisk running .*enabled = yes/],
    ['amis://u:x@127.0.0.1:1', /refused: is Asterisk running .*tlsenable/],
    ['ami://u:x@none.invalid', /no such host: check the name/],
  ])('check of %s names what to check', async (url, message) => {
    const { code, out } = await run('check', url)
    expect([code, out]).toEqual([1, expect.stringMatching(message)])
  })

  test('check of a recording names the place that the URL does not give', async () => {
    const { code, out } = await run('check', 'ami://u:x@127.0.0.1:1', '--recording', '/var/spool/a.wav')
    expect([code, out]).toEqual([1, expect.stringContaining('add recordings=/FOLDER or recordings=https://…')])
  })

  test('remove of a name that is not there names the command that lists them', async () => {
    using folder = emptyFolder()
    const data = ['--data', folder.path]
    expect((await run('add', 'ami://u:x@127.0.0.1:1?name=office', ...data)).code).toBe(0)
    const { code, err } = await run('remove', 'offce', ...data)
    expect([code, err]).toEqual([
      1,
      'hookswitch: there is no PBX offce in the store: list the PBXs with hookswitch pbx list\n',
    ])
  })

  test('check of a PBX that refuses the login names where it is set', async () => {
    const asterisk = startScripted({
      greeting: 'Asterisk Call Manager/9.0.0\r\n',
      answer(block, send) {
        const isChallenge = actionName(block) === 'Challenge'
        const answer = isChallenge ? 'Success\nChallenge: 1' : 'Error\nMessage: Authentication failed'
        send(ami(`Response: ${answer}\nActionID: ${actionId(block)}`))
      },
    })
    const { code, out } = await run('check', `ami://u:x@127.0.0.1:${asterisk.port}`)
    asterisk.stop()
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(/refuses the user u: Authentication failed: .*manager\.conf/),
    ])
  })

  test('check of a PBX that is not there ends with 1, in one line on standard error', async () => {
    const { code, out, err } = await run('check', 'esl://:very-secret@127.0.0.1:1')
    expect(code).toBe(1)
    expect(out).toContain('connection refused')
    expect(err.trim().split('\n')).toHaveLength(1)
    expect(out + err).not.toContain('very-secret')
  })

  test.each([
    [['replay', 'no-such-file'], 'cannot read no-such-file'],
    [['replay', fixture('o-ivr-no-dial.ami'), '--speed', '0'], '--speed'],
    ...['1e9', 'Infinity', '0x10', '0.001'].map((speed): [string[], string] => [
      ['replay', fixture('o-ivr-no-dial.ami'), '--speed', speed],
      'give a number from 0.01 to 100000',
    ]),
    ...['30d', '3601s', 'soon'].map((listenFor): [string[], string] => [
      ['check', 'ami://u:s@127.0.0.1:1', '--listen-for', listenFor],
      `--listen-for is "${listenFor}": give a duration up to 1h, like 5s or 2m`,
    ]),
    [['replay', fixture('o-ivr-no-dial.ami'), '--listen', 'nowhere'], '--listen'],
    [['replay', fixture('o-ivr-no-dial.ami').replace('.ami', '.timing')], 'no PBX event'],
    [['check'], 'set HOOKSWITCH_PBX or HOOKSWITCH_PBX_FILE'],
    [['record'], 'see hookswitch pbx record --help'],
    [['record', 'ami://u:s@h'], 'FILE is missing'],
    [['check', 'http://x'], 'ami://'],
    [['record', 'ami://u@h', 'file'], 'secret'],
  ])('%j is wrong usage', async (args, message) => {
    const { code, err } = await run(...args)
    expect([code, err.trim().split('\n').length]).toEqual([2, 1])
    expect(err).toContain(message)
  })

  describe('the URL, which holds a secret, need not stand on the command line', () => {
    const folder = emptyFolder()
    const replay = startReplay({ files: [fixture('o-ivr-no-dial.ami')], speed: Number.POSITIVE_INFINITY })
    const url = `ami://u:s@127.0.0.1:${replay.port}?name=office`
    const far = 'esl://:p@127.0.0.1:1?name=far'
    const file = join(folder.path, 'pbx.url')
    writeFileSync(file, `${url}\n`)
    afterAll(async () => {
      await replay.stop()
      folder[Symbol.dispose]()
    })

    test.each<[string, string[], Record<string, string>, string]>([
      ['in the variable of the service', [], { HOOKSWITCH_PBX: url }, ''],
      ['in a file that the variable names', [], { HOOKSWITCH_PBX_FILE: file }, ''],
      ['on standard input', ['-'], {}, `${url}\nnot this\n`],
      ['on standard input, regardless of the variable', ['-'], { HOOKSWITCH_PBX: far }, url],
      ['among others, by its name', ['--name', 'office'], { HOOKSWITCH_PBX: `${far} ${url}` }, ''],
    ])('check: %s', async (_, args, env, input) => {
      const { code, out, err } = await runWith(env, input, 'check', ...args, '--listen-for', '100ms')
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out).toContain('the user u may log in')
    })

    test('check and record: from the store, where it was added', async () => {
      const data = ['--data', join(folder.path, 'data')]
      for (const one of [url, far]) expect((await runWith({}, one, 'add', '-', ...data)).code).toBe(0)
      const check = (...args: string[]) => runWith({}, '', 'check', ...args, ...data, '--listen-for', '100ms')
      expect((await check('--name', 'office')).out).toContain('the user u may log in')
      expect((await check()).err).toContain('choose one of them with --name')
      const { err } = await runWith({}, '', 'record', join(folder.path, 'none.ami'), '--name', 'home', ...data)
      expect(err).toContain('there is no PBX named home among far, office')
    })

    test.each<[string, string[], Record<string, string>, string]>([
      ['not by a name that is not there', ['--name', 'home'], { HOOKSWITCH_PBX: `${far} ${url}` }, 'among far, office'],
      ['not without a name among several', [], { HOOKSWITCH_PBX: `${far} ${url}` }, 'far, office: choose one'],
      ['not from an empty input', ['-'], {}, 'the PBX is missing'],
    ])('check: %s', async (_, args, env, message) => {
      const { code, err } = await runWith(env, '', 'check', ...args)
      expect([code, err]).toEqual([2, expect.stringContaining(message)])
      expect(err).not.toMatch(/u:s@|:p@/)
    })

    test('record: in the variable of the service', async () => {
      const recorded = join(folder.path, 'office.ami')
      const child = start(['record', recorded], { HOOKSWITCH_PBX: url })
      const text = () => (existsSync(recorded) ? readFileSync(recorded, 'utf8') : '')
      await until('something is recorded', () => text().includes('Event: '))
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    })
  })

  test('replay refuses a file that is no recording', async () => {
    const child = start(['replay', join(import.meta.dir, '../../../README.md')])
    const { value: firstLine } = await child.stdout.getReader().read()
    // It would play for ever.
    if (firstLine !== undefined) child.kill()
    expect(await child.exited).toBe(2)
    expect(await new Response(child.stderr).text()).toContain('README.md contains no PBX event: give a recording')
  })

  test.each(['replay', 'explain'])('%s refuses a folder in one line', async (command) => {
    using folder = emptyFolder()
    const { code, err } = await run(command, folder.path)
    expect(code).toBe(2)
    expect(err).toBe(`hookswitch: cannot read ${folder.path}: give a recording (.ami or .esl, see pbx record)\n`)
  })

  test('replay prints where it is a PBX, and ends at SIGTERM', async () => {
    const child = start(['replay', fixture('o-ivr-no-dial.ami')])
    const line = new TextDecoder().decode((await child.stdout.getReader().read()).value)
    expect(line).toMatch(/^hookswitch replays \d+ events on ami:\/\/any:any@127\.0\.0\.1:\d{2,}\n$/)
    child.kill('SIGTERM')
    expect(await child.exited).toBe(0)
  })
})
