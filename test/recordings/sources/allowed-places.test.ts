import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkRecordings } from '../../../src/recordings/check-recordings.ts'
import { createRecordingFiles } from '../../../src/recordings/recording-files.ts'
import { createAllowedPlaces } from '../../../src/recordings/sources/allowed-places.ts'
import { createPbxFiles } from '../../../src/recordings/sources/pbx-files.ts'
import { emptyFolder } from '../../help/app.ts'
import { tone } from '../../help/audio.ts'

const folder = emptyFolder()
const at = (...names: string[]) => join(folder.path, ...names)

beforeAll(() => {
  for (const name of ['monitor/2026', 'monitor-old', 'secret', 'monitor/copies', 'settings']) {
    mkdirSync(at(name), { recursive: true })
    writeFileSync(at(name, 'a.wav'), tone())
  }
  symlinkSync(at('secret'), at('monitor/link'))
  symlinkSync(at('monitor'), at('alias'))
})
afterAll(() => folder[Symbol.dispose]())

const allowed = () =>
  createAllowedPlaces({
    from: [at('monitor'), 'https://pbx.example/monitor/'],
    ofSettings: () => [{ location: at('settings'), root: null }],
    copiesFolder: at('monitor/copies'),
  })

describe('a PBX of the API may have its recordings', () => {
  test.each([
    ['in the folder itself', () => at('monitor')],
    ['below it', () => at('monitor/2026')],
    ['below it, in a folder that is not there yet', () => at('monitor/2027/01')],
    ['where a link leads into it', () => at('alias/2026')],
    ['where a PBX of the settings has them', () => at('settings')],
    ['at the URL', () => 'https://pbx.example/monitor/'],
    ['below the URL', () => 'https://pbx.example/monitor/2026/'],
  ])('%s', async (_, place) => expect(await allowed().refusalOf(place())).toBeUndefined())

  test.each([
    ['above the folder', () => folder.path],
    ['at the root', () => '/'],
    ['beside it', () => at('secret')],
    ['in a folder whose name only begins alike', () => at('monitor-old')],
    ['where dots lead out', () => at('monitor/../secret')],
    ['where dots lead out of a folder that is not there', () => at('monitor/none/../../secret')],
    ['where a link leads out', () => at('monitor/link')],
    ['in the copies of all accounts', () => at('monitor/copies')],
    ['at another host', () => 'http://169.254.169.254/'],
    ['at the host without TLS', () => 'http://pbx.example/monitor/'],
    ['at another port', () => 'https://pbx.example:8443/monitor/'],
    ['above the URL', () => 'https://pbx.example/'],
    ['at a path that only begins alike', () => 'https://pbx.example/monitor-old/'],
    ['where encoded dots lead out', () => new URL('https://pbx.example/monitor/%2e%2e/secret/').href],
    ['where an encoded slash leads out', () => 'https://pbx.example/monitor/..%2fsecret/'],
    ['where a server reads parameters of a path', () => 'https://pbx.example/monitor/..;/secret/'],
    ['where a path is encoded twice', () => 'https://pbx.example/monitor/%252e%252e%252fsecret/'],
  ])('but not %s', async (_, place) => expect(await allowed().refusalOf(place())).toContain('--recordings-from'))

  test('nowhere without the setting', async () => {
    const nothing = createAllowedPlaces({ from: [] })
    for (const place of ['/', at('monitor'), 'https://pbx.example/monitor/'])
      expect(await nothing.refusalOf(place)).toContain('--recordings-from')
  })
})

describe('the allowed places are checked when a file is read', () => {
  const open = (location: string, path: string) => createPbxFiles({ location, root: '/rec' }, allowed()).open(path)

  test('a file in the folder is opened, one of the copies below it is not', async () => {
    const opened = await open(at('monitor'), '/rec/2026/a.wav')
    expect(opened.kind).toBe('file')
    if (opened.kind === 'file') await opened.file.close()
    expect(await open(at('monitor'), '/rec/copies/a.wav')).toMatchObject({ kind: 'missing' })
  })

  test('a place that has become a link to elsewhere is not read', async () => {
    mkdirSync(at('monitor/swapped'))
    const files = createPbxFiles({ location: at('monitor/swapped'), root: '/rec' }, allowed())
    rmSync(at('monitor/swapped'), { recursive: true })
    symlinkSync(at('secret'), at('monitor/swapped'))
    expect(await files.open('/rec/a.wav')).toMatchObject({ kind: 'missing' })
    const { text } = await checkRecordings({ location: at('monitor/swapped'), root: null }, { allowed: allowed() })
    expect(text).toContain('--recordings-from')
    expect(text).not.toContain('a.wav')
  })

  test("a place from the API that this machine does not allow is not read; the operator's place is", async () => {
    const place = { location: at('secret'), root: '/rec' }
    const filesOf = (isOfApi: boolean) =>
      createRecordingFiles({ pbxs: () => [{ name: 'x', recordings: { ...place }, isOfApi }], maxBytes: 1e6 }).filesOf(
        'x',
      )
    expect(await filesOf(true)?.open('/rec/a.wav')).toMatchObject({ kind: 'missing' })
    const own = await filesOf(false)?.open('/rec/a.wav')
    expect(own?.kind).toBe('file')
    if (own?.kind === 'file') await own.file.close()
  })
})
