import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startReplay } from '../../../src/pbx/tools/replay/replay.ts'
import { emptyFolder, type RunningApp, startServe } from '../../help/app.ts'
import { audioFixture, tone } from '../../help/audio.ts'
import { accessibilityFaults, browserOfRun, CHROMIUM, overflowOf, type Visit, visit } from '../../help/browser.ts'
import { addUser, ask, logIn, PASSWORD } from '../../help/client.ts'
import { fixture } from '../../help/pbx.ts'
import { until } from '../../help/receiver.ts'

// A recorded call that was transferred from 1001 to 1002, played in the page: slowly, so that it does not end between two steps of a test.

const EMAIL = 'ada@example.com'
const LONG_AGO = new Date('2026-11-20T10:00:00Z')
const FILE = '2026-11-20_74b06b7b-dbc1-4dd5-b640-d2f5fbcae8c7.wav'

describe.skipIf(CHROMIUM === undefined)('a recording in the page, in a browser (needs chromium)', () => {
  let folder: ReturnType<typeof emptyFolder>
  let app: RunningApp
  let seen: Visit
  let callId = ''
  const stops: (() => unknown)[] = []
  const place = () => join(folder.path, 'recordings')

  beforeAll(async () => {
    folder = emptyFolder()
    mkdirSync(place())
    writeFileSync(join(place(), FILE), tone(7))
    const replay = startReplay({ files: [fixture('recorded-transfer.esl')] })
    stops.unshift(() => replay.stop())
    const pbx = `esl://:any@127.0.0.1:${replay.port}?name=office&recordings=${place()}`
    app = await startServe({ cwd: folder.path, args: ['--pbx', pbx] })
    stops.unshift(() => app.stop())
    await addUser(folder.path, EMAIL)
    const token = await logIn(app, EMAIL)
    await until('the call is saved', async () => {
      const { result } = (await ask(app, 'GET', '/call', { token })).body
      callId = (result as { items: { id: string }[] }).items[0]?.id ?? ''
      return callId !== ''
    })
    // A file that was just written may still grow.
    await until('its file may be read', async () => {
      const { body } = await ask(app, 'GET', `/call/${callId}`, { token })
      const [{ id }] = (body.result as { recordings: [{ id: string }] }).recordings
      const headers = { authorization: `Bearer ${token}` }
      return (await fetch(`${app.url}/call/${callId}/recording/${id}`, { method: 'HEAD', headers })).status === 200
    })
    seen = await visit(await browserOfRun(), { viewport: { width: 1_360, height: 1_000 }, colorScheme: 'light' })
    stops.unshift(() => seen.page.context().close())
    const { page } = seen
    await page.goto(app.url)
    await page.getByLabel('E-mail').fill(EMAIL)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('heading', { name: 'Live', exact: true }).waitFor()
    await page.goto(`${app.url}/#/calls/${callId}`)
    await player().getByText('0:00 of 0:07').waitFor()
    await audio((element) => {
      element.playbackRate = 0.1
    })
  })
  afterAll(async () => {
    for (const stop of stops) await stop()
    folder[Symbol.dispose]()
  })

  const player = () => seen.page.getByRole('region', { name: 'Timeline' }).getByRole('group', { name: 'Recording 1' })
  const slider = () => player().getByRole('slider', { name: 'Position' })
  const audio = <Result>(read: (element: HTMLAudioElement) => Result) =>
    seen.page
      .locator('audio')
      .evaluate((element, code) => new Function('one', `return (${code})(one)`)(element), `${read}`)
  const isPaused = () => audio(({ paused }) => paused)
  const seconds = async () => Number(await slider().inputValue())
  /** Presses a key of the slider. A player that is still on its way to the end stops at the end, so the way is waited for. */
  const press = async (key: string, toS: number) => {
    await seen.page.keyboard.press(key)
    await until(
      `${key} moves it to ${toS} s`,
      async () => (await seconds()) === toS && !(await audio((one) => one.seeking)),
    )
  }
  const valueText = async () => (await slider().getAttribute('aria-valuetext')) ?? ''
  /** What the player says happens at its position. */
  const happening = async () => (await player().locator('.player-now').allTextContents()).join()
  /** Where the moment that is heard is marked: its place in each lane of the timeline, a percentage. */
  const heads = () =>
    seen.page.locator('.lanes .playhead').evaluateAll((lines) => lines.map((line) => line.getAttribute('x1') ?? ''))
  const clickTimeline = async (share: number) => {
    const box = await seen.page.locator('.lanes svg.lane').first().boundingBox()
    if (box === null) throw new Error('there is no timeline')
    await seen.page.mouse.click(box.x + box.width * share, box.y + box.height / 2)
  }

  test('is one control with a name, a value and its length; nothing is marked before it is heard', async () => {
    expect([await seconds(), await slider().getAttribute('max'), await valueText()]).toEqual([
      0,
      '7',
      expect.stringMatching(/^0:00 of 0:07/),
    ])
    expect(await isPaused()).toBe(true)
    expect(await heads()).toEqual([])
    expect(await accessibilityFaults(seen.page)).toEqual([])
  })

  test('plays at the press of its button, and the moment that is heard is marked in every lane, and described', async () => {
    await player().getByRole('button', { name: 'Play' }).click()
    await until('it plays', async () => (await seconds()) > 0.3)
    await player().getByRole('button', { name: 'Pause' }).click()
    expect(await isPaused()).toBe(true)
    const [first = '', ...others] = await heads()
    expect(first).toMatch(/^\d+(\.\d+)?%$/)
    expect(others.length).toBeGreaterThan(0)
    expect(new Set(others)).toEqual(new Set([first]))
    expect(await happening()).toMatch(/^1001 /)
  })

  test('goes to where the timeline is clicked, and stays as it was: playing or not', async () => {
    await clickTimeline(0.9)
    await until('what happens then is described', async () => (await happening()).includes('1002 talking'))
    // The file ends before the timeline does.
    expect(Number.parseFloat((await heads())[0] ?? '')).toBeWithin(80, 91)
    await until('its position is read out', async () => (await valueText()).includes('1002 talking'))
    expect(await isPaused()).toBe(true)
    const late = await seconds()
    expect(late).toBeGreaterThan(4)
    await player().getByRole('button', { name: 'Play' }).click()
    await clickTimeline(0.4)
    await until('it plays from there', async () => (await seconds()) < late)
    expect(await isPaused()).toBe(false)
    await player().getByRole('button', { name: 'Pause' }).click()
    await until('what happens there is described', async () => (await happening()).includes('1001 talking'))
    const head = Number.parseFloat((await heads())[0] ?? '')
    expect(head).toBeGreaterThanOrEqual(39)
    expect(head).toBeLessThan(90)
  })

  test('is played with the keyboard alone: arrows, Home, End, space', async () => {
    await slider().focus()
    await press('Home', 0)
    await press('ArrowRight', 5)
    await press('ArrowLeft', 0)
    await press('End', 7)
    await press('Home', 0)
    await seen.page.keyboard.press('Space')
    await until('it plays', async () => !(await isPaused()))
    await seen.page.keyboard.press('Space')
    await until('it pauses', isPaused)
    await seen.page.keyboard.press('Tab')
    const speed = player().getByRole('radio', { name: '1×', exact: true })
    expect(await speed.evaluate((element) => element === document.activeElement)).toBe(true)
    await seen.page.keyboard.press('Tab')
    const download = player().getByRole('link', { name: 'Download' })
    expect(await download.evaluate((element) => element === document.activeElement)).toBe(true)
    expect(await accessibilityFaults(seen.page)).toEqual([])
  })

  test('is downloaded whole', async () => {
    const [download] = await Promise.all([
      seen.page.waitForEvent('download'),
      player().getByRole('link', { name: 'Download' }).click(),
    ])
    const path = join(folder.path, 'downloaded.wav')
    await download.saveAs(path)
    expect(Buffer.from(await Bun.file(path).arrayBuffer()).equals(tone(7))).toBe(true)
    expect(download.suggestedFilename()).toBe(FILE)
  })

  test('fits on a phone, in the dark', async () => {
    const { page } = seen
    await page.setViewportSize({ width: 390, height: 844 })
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await overflowOf(page)).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.setViewportSize({ width: 1_360, height: 1_000 })
    await page.emulateMedia({ colorScheme: 'light' })
  })

  test.each([
    ['of a format that no browser plays is reported', audioFixture('gsm.wav'), 'cannot play audio/vnd.wave'],
    ['whose file is gone is reported', undefined, 'There is no such recording'],
  ])('%s, with a way to try again', async (_, content, message) => {
    rmSync(join(place(), FILE), { force: true })
    if (content !== undefined) {
      writeFileSync(join(place(), FILE), content)
      utimesSync(join(place(), FILE), LONG_AGO, LONG_AGO)
    }
    const { page } = seen
    await page.reload()
    const alert = page.getByRole('alert').filter({ hasText: message })
    await alert.waitFor()
    writeFileSync(join(place(), FILE), tone(7))
    utimesSync(join(place(), FILE), LONG_AGO, LONG_AGO)
    await alert.getByRole('button', { name: 'Try again' }).click()
    await player().getByText('0:00 of 0:07').waitFor()
  })

  test('no script failed, and the policy refused nothing', () => {
    expect(seen.faults).toEqual([])
    expect(seen.asked.filter((url) => !url.startsWith(app.url))).toEqual([])
  })
})
