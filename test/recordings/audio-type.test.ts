import { expect, test } from 'bun:test'
import { audioTypeOf, hasSound } from '../../src/recordings/audio-type.ts'
import { audioFixture, gsmTone, mp3, ogg, tone } from '../help/audio.ts'

const text = (given: string) => Buffer.from(given, 'latin1')

test.each([
  ['a tone', tone(), 'audio/wav', 'wav'],
  ['GSM of sox', audioFixture('gsm.wav'), 'audio/vnd.wave; codec=31', 'wav'],
  ['MP3 of lame', audioFixture('mpeg.mp3'), 'audio/mpeg', 'mp3'],
  ['Opus of opusenc', audioFixture('opus.ogg'), 'audio/ogg; codecs=opus', 'opus'],
  ['GSM in WAV', gsmTone(), 'audio/vnd.wave; codec=31', 'wav'],
  ['WAV without its chunks', text('RIFF\xff\xff\xff\xffWAVE'), 'audio/wav', 'wav'],
  ['WAV with a chunk longer than what was read', text('RIFF....WAVEjunk\xff\xff\xff\x7f.........'), 'audio/wav', 'wav'],
  ['frames of MP3', mp3(), 'audio/mpeg', 'mp3'],
  ['MP3 with a tag', mp3({ tag: true }), 'audio/mpeg', 'mp3'],
  ['one frame of MP3 in other data', mp3({ frames: 1 }), 'application/octet-stream', 'bin'],
  ['Opus', ogg('OpusHead'), 'audio/ogg; codecs=opus', 'opus'],
  ['Vorbis', ogg('\u0001vorbis'), 'audio/ogg; codecs=vorbis', 'ogg'],
  ['Speex', ogg('Speex   '), 'audio/ogg', 'ogg'],
  ['FLAC', text('fLaC\0\0\0"'), 'audio/flac', 'flac'],
  ['Sun audio', text('.snd\0\0\0\x18'), 'audio/basic', 'au'],
  ['MPEG 4', text('\0\0\0\x18ftypM4A '), 'audio/mp4', 'm4a'],
  ['a page', text('<html><script>'), 'application/octet-stream', 'bin'],
  ['nothing', text(''), 'application/octet-stream', 'bin'],
])('%s is known by its content', (_, content, mediaType, extension) => {
  expect(audioTypeOf(content.subarray(0, 4_096))).toEqual({ mediaType, extension })
})

test.each([
  ['a tone', tone(), true],
  ['a WAV file with a header alone', tone(0), false],
  ['a WAV file whose header was written first, and the sound after it', Buffer.concat([tone(0), tone(1)]), true],
  ['GSM in WAV', gsmTone(), true],
  ['WAV without its chunks', text('RIFF\xff\xff\xff\xffWAVE'), false],
  ['raw sound', text('ulaw'), true],
  ['nothing', text(''), false],
])('%s: has it sound?', (_, content, expected) => {
  expect(hasSound(content.subarray(0, 4_096), content.length)).toBe(expected)
})
