import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Audio files that a test makes: a tone as WAV, and the first frames of other kinds. */

/**
 * Returns a second of a tone of 440 Hz as encoders write it: `gsm.wav` (sox -e gsm-full-rate), `mpeg.mp3` (lame -b 16), `opus.ogg`
 * (opusenc --bitrate 12), each of a WAV file with 8,000 samples a second.
 */
export const audioFixture = (name: 'gsm.wav' | 'mpeg.mp3' | 'opus.ogg'): Buffer =>
  readFileSync(join(import.meta.dir, '../fixtures/audio', name))

/** Returns a tone of 440 Hz as WAV: 16 bits, 8,000 samples a second, as Asterisk records. */
export function tone(seconds = 1): Buffer {
  const samples = Math.round(seconds * 8_000)
  const data = Buffer.alloc(samples * 2)
  for (let at = 0; at < samples; at++)
    data.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * 440 * at) / 8_000)), at * 2)
  return wave(formatChunk(1, 16), data)
}

/** Returns a WAV file with GSM 6.10 sound, as Asterisk writes `.WAV` files. */
export const gsmTone = (): Buffer =>
  wave(Buffer.concat([formatChunk(0x31, 0), Buffer.from([2, 0, 0x40, 1])]), Buffer.alloc(650, 0xd2))

/** Returns some frames of MP3: MPEG 2.5 at 8,000 samples a second and 8 kbit/s; `tag`: with an ID3 tag before them. */
export function mp3({ tag = false, frames = 14 } = {}): Buffer {
  const frame = Buffer.concat([Buffer.from([0xff, 0xe3, 0x18, 0xc4]), Buffer.alloc(68)])
  const id3 = Buffer.concat([Buffer.from('ID3\x03\x00\x00\x00\x00\x00\x0a', 'latin1'), Buffer.alloc(10)])
  return Buffer.concat([...(tag ? [id3] : []), ...Array.from({ length: frames }, () => frame)])
}

/** Returns the first page of an Ogg file whose stream has this header. */
export const ogg = (header: 'OpusHead' | '\u0001vorbis' | 'Speex   '): Buffer =>
  Buffer.concat([
    Buffer.from('OggS\x00\x02', 'latin1'),
    Buffer.alloc(20),
    Buffer.from([1, 19]),
    Buffer.from(header, 'latin1'),
    Buffer.alloc(11),
  ])

function formatChunk(format: number, bits: number): Buffer {
  const chunk = Buffer.alloc(16)
  chunk.writeUInt16LE(format, 0)
  chunk.writeUInt16LE(1, 2)
  chunk.writeUInt32LE(8_000, 4)
  chunk.writeUInt32LE(bits === 0 ? 1_625 : 16_000, 8)
  chunk.writeUInt16LE(bits === 0 ? 65 : 2, 12)
  chunk.writeUInt16LE(bits, 14)
  return chunk
}

const chunkOf = (name: string, content: Buffer) => {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)])
}

/** The chunk LIST before the format is what ffmpeg and sox may write. */
function wave(format: Buffer, data: Buffer): Buffer {
  const chunks = Buffer.concat([chunkOf('LIST', Buffer.from('INFOx')), chunkOf('fmt ', format), chunkOf('data', data)])
  return chunkOf('RIFF', Buffer.concat([Buffer.from('WAVE'), chunks]))
}
