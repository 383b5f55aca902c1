/** Parts of a waveform: as many as are distinct in a timeline. */
const PARTS = 160

/** Returns how loud each part of a recording is, as a share of the loudest. Pure. */
function waveformOf(samples: Float32Array): number[] {
  const size = Math.max(1, Math.floor(samples.length / PARTS))
  const parts = Array.from({ length: Math.min(PARTS, samples.length) }, (_, part) => {
    let sum = 0
    for (let at = part * size; at < (part + 1) * size; at += 1) sum += (samples[at] ?? 0) ** 2
    return Math.sqrt(sum / size)
  })
  const loudest = Math.max(...parts, Number.EPSILON)
  return parts.map((loudness) => loudness / loudest)
}

/** A longer file would need too much memory when it is decoded. */
const MAX_BYTES = 32 * 1024 * 1024
/** The lowest rate that a browser decodes to: enough for a picture, and the least memory. */
const RATE = 8_000

/** Reads a recording and returns its waveform; `null` if the browser cannot decode it. */
export async function readWaveform(path: string): Promise<number[] | null> {
  try {
    const response = await fetch(path, { credentials: 'omit' })
    if (!response.ok || Number(response.headers.get('content-length') ?? 0) > MAX_BYTES) return null
    const audio = await new OfflineAudioContext(1, 1, RATE).decodeAudioData(await response.arrayBuffer())
    return waveformOf(audio.getChannelData(0))
  } catch {
    return null
  }
}
