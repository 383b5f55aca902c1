import { join } from 'node:path'
import { OWNS_EVERYTHING } from '../../src/cluster/ownership.ts'
import { createLog } from '../../src/lib/log.ts'
import { nowUs, steadyUs } from '../../src/lib/time.ts'
import { createS3Client } from '../../src/outbound/s3-client.ts'
import { parsePbxUrl } from '../../src/pbx/source/pbx-url.ts'
import { createFolderCopies } from '../../src/recordings/copies/folder-copies.ts'
import { createS3Copies } from '../../src/recordings/copies/s3-copies.ts'
import { createRecordingFiles } from '../../src/recordings/recording-files.ts'
import { startRecordingSaver } from '../../src/recordings/recording-saver.ts'
import { openPostgresStore } from '../../src/store/postgres/store.ts'
import { databaseSource } from './postgres.ts'
import { S3_BUCKET, S3_KEYS } from './s3-server.ts'
import { openStore } from './store.ts'

// A process that saves recordings in a folder of a test until it is killed. Its steady clock is a thousand times as fast.
// Arguments: the folder; `copies` (in the folder), `no copies`, or the URL of an S3 server; the URL of a Postgres database,
// else a SQLite file in the folder.

const [folder = '', place = '', databaseUrl] = process.argv.slice(2)
const parsed = parsePbxUrl(`ami://u:s@h?name=office&recordings=${join(folder, 'monitor')}`)
if ('wrong' in parsed) throw new Error(parsed.wrong)
const inS3 = () =>
  createS3Copies({ bucket: S3_BUCKET, prefix: '' }, createS3Client({ ...S3_KEYS, bucket: S3_BUCKET, endpoint: place }))
const inFolder = () => createFolderCopies(join(folder, 'copies'), 100_000)
const copies = place === 'copies' ? inFolder() : place === 'no copies' ? undefined : inS3()
const store =
  databaseUrl === undefined
    ? openStore(join(folder, 'hookswitch.db'))
    : await openPostgresStore(databaseSource(databaseUrl))
startRecordingSaver({
  store,
  copies,
  pbxs: () => [parsed.pbx],
  maxBytes: 1e9,
  nowUs,
  ownership: OWNS_EVERYTHING,
  log: createLog('silent'),
  onStored() {},
  everyMs: 1,
  files: createRecordingFiles({ pbxs: () => [parsed.pbx], maxBytes: 1e9, copies }),
  steadyUs: () => steadyUs() * 1_000,
  eventOf: async ({ id, callId, sequence }) => ({
    uuid: id,
    callId,
    name: 'call_saved',
    sequence,
    atUs: nowUs(),
    body: '{}',
  }),
})
process.stdout.write('ready\n')
