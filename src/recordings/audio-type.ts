/** The kind of an audio file: its media type, and the ending that its name should have. */
type AudioType = { readonly mediaType: string; readonly extension: string }

/** This many bytes at the start of a file show its kind. */
export const HEAD_BYTES = 4_096

const type = (mediaType: string, extension: string): AudioType => ({ mediaType, extension })
const UNKNOWN = type('application/octet-stream', 'bin')

/** Detects the kind of an audio file by its first bytes, not by its name. */
export function audioTypeOf(head: Uint8Array): AudioType {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  const startsWith = (text: string, at = 0) => bytes.toString('latin1', at, at + text.length) === text
  if ((startsWith('RIFF') || startsWith('RF64')) && startsWith('WAVE', 8)) return waveTypeOf(bytes)
  if (startsWith('OggS')) return oggTypeOf(bytes)
  if (startsWith('fLaC')) return type('audio/flac', 'flac')
  if (startsWith('.snd')) return type('audio/basic', 'au')
  if (startsWith('ftyp', 4)) return type('audio/mp4', 'm4a')
  if (startsWith('ID3') || isMp3Frame(bytes)) return type('audio/mpeg', 'mp3')
  return UNKNOWN
}

/** Returns whether a file of `size` bytes has more than the header of a WAV file; `head` is its beginning. */
export function hasSound(head: Uint8Array, size: number): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  if (audioTypeOf(head).extension !== 'wav') return size > 0
  // The header of a growing file lacks the length of the sound: so the size of the file decides.
  for (let at = 12; at + 8 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 4)
    if (bytes.toString('latin1', at, at + 4) === 'data') return size > at + 8
    at += 8 + length + (length % 2)
  }
  return size > bytes.length
}

/** The number of GSM 6.10 in the registry of RFC 2361. */
const GSM = 0x31

function waveTypeOf(bytes: Buffer): AudioType {
  // Chunks follow one another, each with its length, padded to an even one.
  for (let at = 12; at + 10 <= bytes.length; ) {
    const length = bytes.readUInt32LE(at + 4)
    if (bytes.toString('latin1', at, at + 4) === 'fmt ')
      return bytes.readUInt16LE(at + 8) === GSM ? type('audio/vnd.wave; codec=31', 'wav') : type('audio/wav', 'wav')
    at += 8 + length + (length % 2)
  }
  return type('audio/wav', 'wav')
}

function oggTypeOf(bytes: Buffer): AudioType {
  const first = bytes.subarray(0, 128)
  if (first.includes('OpusHead')) return type('audio/ogg; codecs=opus', 'opus')
  if (first.includes('\u0001vorbis')) return type('audio/ogg; codecs=vorbis', 'ogg')
  return type('audio/ogg', 'ogg')
}

const MPEG_1 = 3
const LAYER_3 = 1
const BITRATES_OF_MPEG_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const BITRATES_OF_MPEG_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const RATES_OF_MPEG_1 = [44_100, 48_000, 32_000]

/** Two frames have to follow one another: eleven bits alone are found in any data. */
function isMp3Frame(bytes: Buffer): boolean {
  const length = mp3FrameBytes(bytes, 0)
  return length !== undefined && mp3FrameBytes(bytes, length) !== undefined
}

function mp3FrameBytes(bytes: Buffer, at: number): number | undefined {
  if (at + 4 > bytes.length || bytes[at] !== 0xff) return undefined
  const [second = 0, third = 0] = bytes.subarray(at + 1, at + 3)
  const version = (second >> 3) & 3
  if (second >> 5 !== 7 || version === 1 || ((second >> 1) & 3) !== LAYER_3) return undefined
  const rateOfMpeg1 = RATES_OF_MPEG_1[(third >> 2) & 3]
  const kilobits = (version === MPEG_1 ? BITRATES_OF_MPEG_1 : BITRATES_OF_MPEG_2)[third >> 4]
  if (rateOfMpeg1 === undefined || !kilobits) return undefined
  const rate = version === MPEG_1 ? rateOfMpeg1 : version === 2 ? rateOfMpeg1 / 2 : rateOfMpeg1 / 4
  const samplesPerBit = version === MPEG_1 ? 144_000 : 72_000
  return Math.floor((samplesPerBit * kilobits) / rate) + ((third >> 1) & 1)
}
