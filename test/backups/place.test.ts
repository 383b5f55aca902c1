import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { backupPlaceOf } from '../../src/backups/place.ts'
import { createS3Client } from '../../src/outbound/s3-client.ts'
import { emptyFolder } from '../help/app.ts'
import { startRedirects } from '../help/s3-redirects.ts'
import { S3_BUCKET, S3_KEYS, startS3Server } from '../help/s3-server.ts'

test('the folder is made, and files of a killed process are removed from it', async () => {
  using folder = emptyFolder()
  const path = join(folder.path, 'deep', 'backups')
  const place = backupPlaceOf(path, folder.path)
  expect(await place.list()).toEqual([])
  mkdirSync(join(path, '.hookswitch-backup-old'))
  const work = await place.makeWorkFolder()
  expect(existsSync(join(path, '.hookswitch-backup-old'))).toBe(false)
  writeFileSync(join(work, 'hookswitch.db'), 'content')
  await place.put(join(work, 'hookswitch.db'), 'one.db')
  expect(await Bun.file(join(path, 'one.db')).text()).toBe('content')
  await place.delete('one.db')
  expect(readdirSync(path).filter((name) => !name.startsWith('.'))).toEqual([])
})

test('a bucket holds backups below its prefix, with lists of several pages', async () => {
  using folder = emptyFolder()
  const server = startS3Server()
  const client = createS3Client({ ...S3_KEYS, endpoint: server.url, bucket: S3_BUCKET })
  const place = backupPlaceOf(`s3://${S3_BUCKET}/store/daily`, folder.path, client)
  const work = await place.makeWorkFolder()
  const names = Array.from({ length: 5 }, (_, at) => `${at}.db`)
  for (const name of names) {
    writeFileSync(join(work, 'hookswitch.db'), `content of ${name}`)
    await place.put(join(work, 'hookswitch.db'), name)
  }
  expect((await place.list()).toSorted()).toEqual(names)
  await place.delete('0.db')
  expect((await place.list()).toSorted()).toEqual(names.slice(1))
  expect(String(server.objects.get(`${S3_BUCKET}/store/daily/1.db`))).toBe('content of 1.db')
  await server.stop()
})

test('a bucket whose list never ends is an error', async () => {
  using folder = emptyFolder()
  const contents = Array.from({ length: 1_000 }, (_, at) => `<Contents><Key>${at}</Key></Contents>`).join('')
  const list = `<ListBucketResult><IsTruncated>true</IsTruncated>${contents}</ListBucketResult>`
  await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(list) })
  const client = createS3Client({ ...S3_KEYS, endpoint: server.url.origin, bucket: S3_BUCKET })
  const place = backupPlaceOf(`s3://${S3_BUCKET}`, folder.path, client)
  expect(place.list()).rejects.toThrow('has more than 50000 objects: give a prefix for the backups alone')
})

test.each([301, 302, 307, 308])(
  'a redirect of the S3 server (%d) is a failure: no backup goes elsewhere',
  async (status) => {
    using folder = emptyFolder()
    const server = startRedirects(status)
    const client = createS3Client({ ...S3_KEYS, endpoint: server.url, bucket: S3_BUCKET })
    const place = backupPlaceOf(`s3://${S3_BUCKET}/store`, folder.path, client)
    const file = join(folder.path, 'hookswitch.db')
    writeFileSync(file, 'all secrets')
    const reason = 'the S3 server redirects to another address: name the right endpoint and region'
    await expect(place.put(file, 'one.db')).rejects.toThrow(reason)
    await expect(place.list()).rejects.toThrow(reason)
    await expect(place.delete('one.db')).rejects.toThrow(reason)
    expect([server.arrived, existsSync(file)]).toEqual([[], true])
    await server.stop()
  },
)

test.each([
  ['whole', 'PUT', 1_000],
  ['in parts', 'POST', 0],
])('a redirect of the upload alone is a failure: %s', async (_, method, maxPutBytes) => {
  using folder = emptyFolder()
  const server = startRedirects(307, method)
  const client = createS3Client({ ...S3_KEYS, endpoint: server.url, bucket: S3_BUCKET, maxPutBytes })
  const file = join(folder.path, 'hookswitch.db')
  writeFileSync(file, 'all secrets')
  const place = backupPlaceOf(`s3://${S3_BUCKET}`, folder.path, client)
  await expect(place.put(file, 'one.db')).rejects.toThrow('redirects to another address')
  expect(server.arrived).toEqual([])
  await server.stop()
})
