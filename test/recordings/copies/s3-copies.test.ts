import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createS3Client } from '../../../src/outbound/s3-client.ts'
import { parseS3Url } from '../../../src/outbound/s3-url.ts'
import { createS3Copies, createS3Mark } from '../../../src/recordings/copies/s3-copies.ts'
import { createRecordingFiles } from '../../../src/recordings/recording-files.ts'
import { createFolderSource } from '../../../src/recordings/sources/folder-source.ts'
import type { OpenFile } from '../../../src/recordings/sources/source.ts'
import { emptyFolder } from '../../help/app.ts'
import { tone } from '../../help/audio.ts'
import { pendingRecording } from '../../help/recordings.ts'
import { startRedirects } from '../../help/s3-redirects.ts'
import { S3_BUCKET, S3_KEYS, startS3Server } from '../../help/s3-server.ts'
import { startS3rver } from '../../help/s3rver.ts'

// Copies in a bucket, over HTTP, of Bun's own client.

const server = startS3Server()
const CREDENTIALS = { bucket: S3_BUCKET, endpoint: server.url, ...S3_KEYS }
const client = createS3Client(CREDENTIALS)
const copies = createS3Copies({ bucket: 'calls', prefix: 'hookswitch/a' }, client)
const folder = emptyFolder()
const SOUND = tone(1)
/** More than one part of an upload. */
const LONG = Buffer.alloc(20_000_000, 'a long recording ')

async function fileOf(name: string): Promise<OpenFile> {
  const opened = await createFolderSource(folder.path).open([name])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  return opened.file
}
const bytesOf = async (stream: ReadableStream) => Buffer.from(await new Response(stream).arrayBuffer())
const hash = (content: Buffer) => createHash('sha256').update(content).digest('hex')

beforeAll(() => {
  writeFileSync(join(folder.path, 'short.wav'), SOUND)
  writeFileSync(join(folder.path, 'long.wav'), LONG)
})
afterAll(() => {
  server.stop()
  folder[Symbol.dispose]()
})

test.each([
  ['s3://calls', { bucket: 'calls', prefix: '' }],
  ['s3://calls/', { bucket: 'calls', prefix: '' }],
  ['s3://calls.example/a/b/', { bucket: 'calls.example', prefix: 'a/b' }],
  ['s3://', undefined],
  ['/mnt/copies', undefined],
  ['https://calls/', undefined],
])('%s is the place %j', (text, expected) => expect(parseS3Url(text)).toEqual(expected))

test.each([
  ['short.wav', SOUND],
  ['long.wav', LONG],
])('%s is copied, verified, read in ranges and removed', async (name, content) => {
  const file = await fileOf(name)
  const stem = `x/${name.replace('.wav', '')}`
  expect(await copies.write({ stem, extension: 'wav' }, file)).toEqual({ name: `x/${name}`, sha256: hash(content) })
  await file.close()
  expect(server.objects.get(`calls/hookswitch/a/x/${name}`)?.equals(content)).toBe(true)
  const opened = await copies.open(['x', name])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  expect(opened.file.size).toBe(content.length)
  expect((await bytesOf(opened.file.read(0, content.length))).equals(content)).toBe(true)
  expect((await bytesOf(opened.file.read(10, 5_000))).equals(content.subarray(10, 5_000))).toBe(true)
  await copies.remove(stem)
  expect((await copies.open(['x', name])).kind).toBe('missing')
  await copies.remove(stem)
})

test('a bucket that does not answer is unavailable, and a copy to it fails', async () => {
  server.setBroken(true)
  const file = await fileOf('short.wav')
  expect((await copies.open(['x', 'short.wav'])).kind).toBe('unavailable')
  expect(copies.write({ stem: 'x/short', extension: 'wav' }, file)).rejects.toThrow()
  await file.close()
  server.setBroken(false)
})

test('the same at s3rver, another server', async () => {
  const place = emptyFolder()
  const s3rver = await startS3rver(place.path, 'calls')
  await copyTo(s3rver.url, [{ accessKeyId: 'wrong' }, { bucket: 'hookswitch-nobody' }])
  await s3rver.stop()
  place[Symbol.dispose]()
})

/** One as Versity's gateway, MinIO or Amazon's: http://KEY:SECRET@127.0.0.1:7070/BUCKET?region=us-east-1 */
const REAL = process.env.HOOKSWITCH_TEST_S3
test.skipIf(REAL === undefined)('the same at the server that HOOKSWITCH_TEST_S3 names', async () => {
  const wrongBucketOrKey = [{ accessKeyId: 'wrong' }, { bucket: 'hookswitch-nobody' }]
  await copyTo(REAL ?? '', [{ secretAccessKey: 'wrong' }, ...wrongBucketOrKey, { region: 'x' }])
})

/** Copies, reads and removes files on a server, first with the right credentials, then with each of `wrongs`. */
async function copyTo(url: string, wrongs: readonly object[]): Promise<void> {
  const { origin, username, password, pathname, searchParams } = new URL(url)
  const region = searchParams.get('region') ?? 'us-east-1'
  const bucket = pathname.slice(1)
  const credentials = { endpoint: origin, region, bucket, accessKeyId: username, secretAccessKey: password }
  const real = (change: object = {}) =>
    createS3Copies({ bucket, prefix: `hookswitch-test-${process.pid}` }, createS3Client({ ...credentials, ...change }))
  for (const [name, content] of Object.entries({ short: SOUND, long: LONG })) {
    const file = await fileOf(`${name}.wav`)
    for (const _ of ['first', 'in place of the first'])
      expect((await real().write({ stem: `x/${name}`, extension: 'wav' }, file)).sha256).toBe(hash(content))
    const opened = await real().open(['x', `${name}.wav`])
    if (opened.kind !== 'file') throw new Error(opened.reason)
    expect((await bytesOf(opened.file.read(10, 5_000))).equals(content.subarray(10, 5_000))).toBe(true)
    for (const change of wrongs) {
      await expect(real(change).write({ stem: `x/${name}`, extension: 'wav' }, file)).rejects.toThrow('S3, bucket')
      expect((await real(change).open(['x', 'none.wav'])).kind).toBe('unavailable')
    }
    await file.close()
    await real().remove(`x/${name}`)
    expect((await real().open(['x', `${name}.wav`])).kind).toBe('missing')
    await real().remove(`x/${name}`)
  }
}

test.each([
  ['a wrong secret', { secretAccessKey: 'wrong' }, 'SignatureDoesNotMatch'],
  ['a bucket that is not there', { bucket: 'nobody' }, 'The specified bucket does not exist'],
  ['a server that is not there', { endpoint: 'http://127.0.0.1:1' }, 'check AWS_ENDPOINT'],
])('%s is reported with its reason: reading, and writing little and much', async (_, change, reason) => {
  const bucket = 'bucket' in change ? change.bucket : 'calls'
  const wrong = createS3Copies({ bucket, prefix: '' }, createS3Client({ ...CREDENTIALS, ...change }))
  for (const name of ['short.wav', 'long.wav']) {
    const file = await fileOf(name)
    await expect(wrong.write({ stem: 'x/wrong', extension: 'wav' }, file)).rejects.toThrow(reason)
    await file.close()
  }
  expect(await wrong.open(['x', 'wrong.wav'])).toEqual({
    kind: 'unavailable',
    reason: expect.stringContaining(reason),
  })
  await expect(wrong.remove('x/wrong')).rejects.toThrow()
})

test('a copy that differs from the written bytes does not count', async () => {
  const file = await fileOf('short.wav')
  const size = file.size
  const changed = { ...file, size, read: (start: number, end: number) => file.read(start, end) }
  const writing = copies.write({ stem: 'x/other', extension: 'wav' }, changed)
  // The server changes the object as soon as it is stored.
  const set = server.objects.set.bind(server.objects)
  server.objects.set = (key, content) => set(key, Buffer.concat([content.subarray(0, -1), Buffer.from('x')]))
  await expect(writing).rejects.toThrow('SHA-256')
  server.objects.set = set
  await file.close()
})

test.each([301, 302, 307, 308])(
  'a redirect of the S3 server (%d) is a failure: nothing is sent or read elsewhere',
  async (status) => {
    const redirects = startRedirects(status)
    const place = { bucket: S3_BUCKET, prefix: '' }
    const redirected = createS3Client({ ...CREDENTIALS, endpoint: redirects.url })
    const [elsewhere, mark] = [createS3Copies(place, redirected), createS3Mark(place, redirected)]
    const reason = 'the S3 server redirects to another address: name the right endpoint and region'
    for (const name of ['short.wav', 'long.wav']) {
      const file = await fileOf(name)
      await expect(elsewhere.write({ stem: 'x/one', extension: 'wav' }, file)).rejects.toThrow(reason)
      await file.close()
    }
    expect(await elsewhere.open(['x', 'one.wav'])).toEqual({
      kind: 'unavailable',
      reason: expect.stringContaining(reason),
    })
    await expect(elsewhere.remove('x/one')).rejects.toThrow(reason)
    await expect(mark.readMark()).rejects.toThrow(reason)
    await expect(mark.writeMark('id')).rejects.toThrow(reason)
    expect(redirects.arrived).toEqual([])
    await redirects.stop()
  },
)

test('a redirect of the request for the sound alone is a failure', async () => {
  const redirects = startRedirects(302, 'GET')
  const redirected = createS3Client({ ...CREDENTIALS, endpoint: redirects.url })
  const opened = await createS3Copies({ bucket: S3_BUCKET, prefix: '' }, redirected).open(['x', 'one.wav'])
  if (opened.kind !== 'file') throw new Error(opened.reason)
  await expect(bytesOf(opened.file.read(0, 15))).rejects.toThrow('redirects to another address')
  expect(redirects.arrived).toEqual([])
  await redirects.stop()
})

test('a copy that was cut in S3 is as one that cannot be read', async () => {
  const recording = pendingRecording('cut', {
    sinceUs: 1,
    state: 'saved',
    copy: 'x/cut.wav',
    mediaType: 'audio/wav',
    sizeBytes: SOUND.length,
  })
  const files = createRecordingFiles({ pbxs: () => [], maxBytes: 1e9, copies })
  server.objects.set('calls/hookswitch/a/x/cut.wav', SOUND)
  expect((await files.open(recording)).file.size).toBe(SOUND.length)
  server.objects.set('calls/hookswitch/a/x/cut.wav', SOUND.subarray(0, -100))
  await expect(files.open(recording)).rejects.toMatchObject({ code: 'unavailable' })
})

test('a file that ends early leaves no copy', async () => {
  const file = await fileOf('long.wav')
  const short = { ...file, read: () => file.read(0, 9_000_000) }
  await expect(copies.write({ stem: 'x/early', extension: 'wav' }, short)).rejects.toThrow('ended before its end')
  expect(server.objects.has('calls/hookswitch/a/x/early.wav')).toBe(false)
  await file.close()
})
