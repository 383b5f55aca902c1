import { expect, test } from 'bun:test'
import { mapRecordingPath } from '../../../src/recordings/sources/recording-path.ts'

const MONITOR = '/var/spool/asterisk/monitor'

test.each([
  ['what follows the root', `${MONITOR}/2026/11/20/in.wav`, '2026/11/20/in.wav'],
  ['slashes and dots that mean nothing', `//var/spool/./asterisk//monitor/./in.wav`, 'in.wav'],
  ['a path without a root, as in a CDR', '2026/11/20/in.wav', '2026/11/20/in.wav'],
  ['a name with percent signs, as it is', `${MONITOR}/%2e%2e%2fin.wav`, '%2e%2e%2fin.wav'],
  ['a name with two dots in it', `${MONITOR}/in..wav`, 'in..wav'],
  ['a name in another script', `${MONITOR}/Зоя 東京.wav`, 'Зоя 東京.wav'],
  ['a path with the parameters of FreeSWITCH', `{append=true}${MONITOR}/in.wav`, 'in.wav'],
])('with a root it maps %s', (_, reported, expected) => {
  expect(mapRecordingPath(reported, { root: MONITOR, folderName: 'rec' })).toEqual({ segments: expected.split('/') })
})

test.each([
  ['what follows the folder of that name', `${MONITOR}/2026/in.wav`, '2026/in.wav'],
  ['what follows the last of that name', '/monitor/a/monitor/b/in.wav', 'b/in.wav'],
  ['the file name, if no folder has that name', '/var/lib/recordings/in.wav', 'in.wav'],
  ['the file name, if only the file has that name', '/var/lib/monitor', 'monitor'],
  ['a path of Windows', 'C:\\FreeSWITCH\\monitor\\2026\\in.wav', '2026/in.wav'],
])('without a root it maps %s', (_, reported, expected) => {
  expect(mapRecordingPath(reported, { root: null, folderName: 'monitor' })).toEqual({ segments: expected.split('/') })
})

test.each([
  ['a path outside the root', '/etc/passwd', 'recordings_root'],
  ['a root that only begins the same', `${MONITOR}-old/in.wav`, 'recordings_root'],
  ['a way out of the root', `${MONITOR}/../../../../etc/passwd`, 'leads out'],
  ['a way out at the end', `${MONITOR}/..`, 'leads out'],
  ['a relative way out', '../in.wav', 'leads out'],
  ['a way out with backslashes', `${MONITOR}/..\\..\\in.wav`, 'leads out'],
  ['a NUL', `${MONITOR}/in.wav\0.txt`, 'control characters'],
  ['a line break', `${MONITOR}/in\n.wav`, 'control characters'],
  ['half a surrogate pair', `${MONITOR}/\ud800.wav`, 'UTF-8'],
  ['bytes that were not UTF-8', `${MONITOR}/\ufffd.wav`, 'UTF-8'],
  ['a folder', `${MONITOR}/2026/`, 'folder'],
  ['the root itself', MONITOR, 'no file'],
  ['nothing', '', 'empty'],
  ['a name that is too long', `${MONITOR}/${'é'.repeat(128)}.wav`, 'too long'],
  ['a path that is too long', `${MONITOR}/${'a/'.repeat(2_100)}in.wav`, 'too long'],
])('it refuses %s', (_, reported, reason) => {
  const mapped = mapRecordingPath(reported, { root: MONITOR, folderName: 'monitor' })
  expect('refused' in mapped ? mapped.refused : mapped).toContain(reason)
})
