import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkRecordings } from '../../src/recordings/check-recordings.ts'
import { emptyFolder } from '../help/app.ts'
import { tone } from '../help/audio.ts'
import { startFileServer } from '../help/file-server.ts'

const folder = emptyFolder()
const at = (...names: string[]) => join(folder.path, ...names)
const ROOT = '/var/spool/asterisk/monitor'
const server = startFileServer({ folder: folder.path, authorization: 'Bearer good' })
const web = { location: `${server.url}monitor/`, root: null }

beforeAll(() => {
  for (const name of ['monitor/2026', 'empty', 'hollow', 'texts']) mkdirSync(at(name), { recursive: true })
  writeFileSync(at('monitor/old.wav'), 'old')
  utimesSync(at('monitor/old.wav'), 1, 1)
  writeFileSync(at('monitor/2026/new.wav'), tone())
  writeFileSync(at('hollow/a.wav'), '')
  writeFileSync(at('texts/a.wav'), 'no sound at all')
  symlinkSync('/etc/hostname', at('monitor/link.wav'))
  mkdirSync(at('loop'))
  for (const name of ['a', 'b', 'c', 'd']) symlinkSync('.', at('loop', name))
  mkdirSync(at('outside'))
  writeFileSync(at('outside/other.wav'), tone())
  mkdirSync(at('with-link'))
  symlinkSync('../outside', at('with-link/linked'))
})
afterAll(() => {
  server.stop()
  folder[Symbol.dispose]()
})

const inFolder = (name: string, root: string | null = null) => ({ location: at(name), root })

test.each([
  ['the newest file proves the mapping', inFolder('monitor', ROOT), undefined, 'ok', `${ROOT}/2026/new.wav is read`],
  ['without a root too', inFolder('monitor'), undefined, 'ok', '/monitor/2026/new.wav is read'],
  ['the path that is given', inFolder('monitor', ROOT), `${ROOT}/2026/new.wav`, 'ok', 'audio/wav, 16058 bytes'],
  ['a path outside the root', inFolder('monitor', ROOT), '/tmp/new.wav', 'missing', 'not below'],
  ['a link that leads out', inFolder('monitor', ROOT), `${ROOT}/link.wav`, 'missing', 'outside'],
  [
    'a file that is not there',
    inFolder('monitor', ROOT),
    `${ROOT}/in/none.wav`,
    'missing',
    'monitor/in/none.wav: there is',
  ],
  ['a folder of another name', inFolder('monitor'), '/records/in/none.wav', 'missing', 'add recordings_root='],
  ['no such folder', inFolder('none'), undefined, 'missing', 'there is no folder'],
  ['a file in place of the folder', inFolder('monitor/old.wav'), undefined, 'missing', 'old.wav is a file'],
  ['an empty folder', inFolder('empty'), undefined, 'advice', 'is empty: record a call'],
  ['a folder of links to itself', inFolder('loop'), undefined, 'advice', 'is empty: record a call'],
  ['a link to another folder is not followed', inFolder('with-link'), undefined, 'advice', 'is empty: record a call'],
  ['an empty file', inFolder('hollow'), undefined, 'missing', 'a.wav is empty'],
  ['a file that is no sound', inFolder('texts'), undefined, 'advice', 'no known audio format'],
  ['a server that lets us in', { ...web, authorization: 'Bearer good' }, undefined, 'advice', 'add --recording PATH'],
  ['a server with a real file', { ...web, authorization: 'Bearer good' }, '/monitor/2026/new.wav', 'ok', 'audio/wav'],
  ['a server that does not let us in', { ...web, authorization: 'Bearer bad' }, undefined, 'missing', '401'],
  [
    'a server that does not answer',
    { location: 'http://127.0.0.1:1/', root: null },
    undefined,
    'missing',
    'the connection is refused',
  ],
])('%s', async (_, source, path, level, text) => {
  const finding = await checkRecordings(source, { reportedPath: path })
  expect(finding.text).toContain(text)
  expect(finding.level).toBe(level as typeof finding.level)
})
