import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { newToken } from '../help/client.ts'
import { startReceiver, until } from '../help/receiver.ts'

const backupsIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.db')) : []

test('the service makes verified backups by itself, keeps the newest, and one of them can be restored', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const place = join(cwd, 'backups')
  const args = ['--backup', place, '--backup-every', '1s', '--backup-keep', '1']
  const first = await startServe({ cwd, args })
  await newToken(first, 'anna@example.com')
  const seen = new Set<string>()
  await until('three backups are made', () => {
    for (const name of backupsIn(place)) seen.add(name)
    return seen.size >= 3
  })
  await until(
    'the oldest are deleted',
    () => backupsIn(place).length <= 2 && !backupsIn(place).includes([...seen][0] ?? ''),
  )
  const refused = await run(['restore', join(place, backupsIn(place).at(-1) ?? '')], { cwd })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('stop it first')])
  await first.stop()
  expect(readdirSync(place).filter((name) => name.startsWith('.'))).toEqual([])

  const newest = join(place, backupsIn(place).toSorted().at(-1) ?? '')
  expect(statSync(newest).mode & 0o777).toBe(0o600)
  expect(
    (await run(['user', 'add', '--email', 'late@example.com', '--name', 'L'], { cwd, stdin: '123456' })).code,
  ).toBe(0)
  const restored = await run(['restore', newest, '--json'], { cwd })
  expect({ code: restored.code, stderr: restored.stderr }).toEqual({ code: 0, stderr: '' })
  const { whole, moved_to: movedTo } = JSON.parse(restored.stdout)
  expect(whole).toBe(true)
  expect(existsSync(join(movedTo, 'hookswitch.db'))).toBe(true)
  const users = (await run(['user', 'list'], { cwd })).stdout
  expect(users).toContain('anna@example.com')
  expect(users).not.toContain('late@example.com')
})

test('a backup that fails is reported once, tried again, and reported when it works', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const place = join(cwd, 'backups')
  // A file in the way of the folder fails for every user, root too.
  writeFileSync(place, '')
  const receiver = startReceiver()
  const args = ['--backup', place, '--backup-every', '2s', '--alert-url', `${receiver.url}/alert`]
  const app = await startServe({ cwd, args })
  await until('the failure is alerted', () => receiver.received.length >= 1)
  unlinkSync(place)
  await until('the success is alerted', () => receiver.received.length >= 2)
  const alerts = receiver.received.map(({ body }) => JSON.parse(body))
  expect(alerts.map(({ alert, backup }) => [alert, backup])).toEqual([
    ['backup_failed', place],
    ['backup_succeeded', place],
  ])
  expect(alerts[0].text).toContain(`The backup to ${place} failed (`)
  await app.stop()
  await receiver.stop()
  expect(app.output()).toContain('the backup failed; will retry')
})

test('backups from the future are reported, and delete no new one', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const place = join(cwd, 'backups')
  mkdirSync(place)
  const ahead = ['hookswitch-2099-01-01T000000Z.db', 'hookswitch-2099-01-02T000000Z.db']
  for (const name of ahead) writeFileSync(join(place, name), '')
  const receiver = startReceiver()
  const args = ['--backup', place, '--backup-every', '1h', '--backup-keep', '2', '--alert-url', `${receiver.url}/alert`]
  const app = await startServe({ cwd, args })
  await until('a new backup is there, and an old one deleted', () => {
    const names = backupsIn(place)
    return names.length === 2 && names.some((name) => !ahead.includes(name))
  })
  expect(backupsIn(place)).toEqual(expect.arrayContaining(ahead.slice(1)))
  await until('it is alerted', () => receiver.received.length >= 1)
  const { stdout } = await run(['doctor', '--backup', place], { cwd })
  await app.stop()
  await receiver.stop()
  const [alert] = receiver.received.map(({ body }) => JSON.parse(body))
  expect([alert.alert, alert.text]).toEqual([
    'backup_from_future',
    expect.stringContaining(ahead.toReversed().join(', ')),
  ])
  expect(app.output()).toContain('backups are from the future')
  expect(stdout).toMatch(/^ok +backups: the newest backup in .* is hookswitch-20[2-8].*Z\.db, \d+ s old$/m)
  expect(stdout).toMatch(/^advice +backups: hookswitch-2099-01-0[12]T000000Z.db in .*: from the future/m)
})

test('wrong settings and files are refused with what to do', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const keep = await run(['serve', '--backup', 'b', '--backup-keep', '0'], { cwd })
  expect([keep.code, keep.stderr]).toEqual([2, expect.stringContaining('--backup-keep')])
  const both = await run(['serve', '--backup', 'b', '--database-url', 'postgres://u:p@127.0.0.1/d'], { cwd })
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('pg_dump')])
  const missing = await run(['restore', 'none.db'], { cwd })
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('there is no file')])
  writeFileSync(join(cwd, 'garbage.db'), 'not a database'.repeat(1_000))
  const garbage = await run(['restore', 'garbage.db'], { cwd })
  expect([garbage.code, garbage.stderr]).toEqual([1, expect.stringContaining('is not a backup of a store')])
  expect(existsSync(join(cwd, 'data', 'hookswitch.db'))).toBe(false)
})
