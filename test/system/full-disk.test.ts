import { Database as Sqlite } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder, run, startServe } from '../help/app.ts'
import { ask, PASSWORD } from '../help/client.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'

/** The messages of the executable when it cannot use its store, on a small disk. */
describe.skipIf(!canMount)('on a disk that is', () => {
  let folder: ReturnType<typeof emptyFolder>
  let disk: ReturnType<typeof mountSmallDisk>
  let cwd = ''
  const command = (line: string, stdin = '') => run(line.split(' '), { cwd, stdin })
  const addUser = (email: string, data = 'data') =>
    command(`user add --email ${email} --name A --data ${data}`, `${PASSWORD}\n`)
  const fill = () => void Bun.spawnSync(['dd', 'if=/dev/zero', `of=${cwd}/filler`, 'bs=4096'])
  const remount = (how: string) => void Bun.spawnSync(['mount', '-o', `remount,${how}`, cwd])

  beforeEach(async () => {
    folder = emptyFolder()
    cwd = folder.path
    disk = mountSmallDisk(cwd, '3m')
    expect((await addUser('first@example.com')).code).toBe(0)
  })
  afterEach(() => {
    disk[Symbol.dispose]()
    folder[Symbol.dispose]()
  })

  const COMMANDS = ['user list', 'verify', 'delivery list', 'call erase --number 12345', 'serve --listen 127.0.0.1:0']

  test('full: every command reports that, none that the store is damaged, and all is there when there is space', async () => {
    fill()
    for (const line of COMMANDS) {
      const { code, stderr } = await command(line)
      expect({ line, code, message: stderr.trim() }).toEqual({
        line,
        code: 1,
        message: expect.stringMatching(
          /^hookswitch: data\/\S+ cannot be used: the disk is full \(.*\): free some disk space/,
        ),
      })
    }
    for (const data of ['data', 'another'])
      expect((await addUser('second@example.com', data)).stderr).toContain('the disk is full')
    expect((await command('backup copy.db')).stderr).toMatch(/cannot write the backup .*: the disk is full/)
    const { code, stdout } = await command('doctor --listen 127.0.0.1:1')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^wrong +store: .*the disk is full.*\n +→ df -h data .*keep data\/hookswitch.db-wal/m)
    expect(stdout).toMatch(/^wrong +disk: .* 0 MiB of free space\n +→ free some disk space/m)
    expect(stdout).toMatch(/^advice +service: no service is running on this folder/m)
    expect(stdout).not.toMatch(/damaged|backup|rm -f/)
    rmSync(join(cwd, 'filler'))
    expect((await command('verify')).stdout).toBe('The store is complete and consistent.\n')
    expect((await addUser('second@example.com')).code).toBe(0)
  })

  test('full while the service runs: it is 503, gives the reason, and goes on when there is space', async () => {
    const app = await startServe({ cwd })
    // While a client reads, the log can only grow: a write cannot reuse its space.
    const reader = new Sqlite(join(cwd, 'data/hookswitch.db'), { readonly: true })
    reader.run('BEGIN')
    reader.query('SELECT count(*) FROM users').get()
    fill()
    expect((await addUser('second@example.com')).stderr).toContain('the store cannot be written: the disk is full')
    expect((await command('verify')).stdout).toBe('The store is complete and consistent.\n')
    const { stdout } = await command(`doctor --listen ${app.url.replace('http://', '')}`)
    expect(stdout).toMatch(/^wrong +service: it is running but unhealthy/m)
    expect(stdout).toMatch(/^wrong +disk: .* 0 MiB of free space\n +→ free some disk space/m)
    expect(stdout).not.toMatch(/damaged|backup|rm -f/)
    const again = await command('serve --listen 127.0.0.1:0')
    expect(again.stderr).toMatch(new RegExp(`in use by process ${app.pid} on `))
    reader.close()
    rmSync(join(cwd, 'filler'))
    expect((await addUser('second@example.com')).code).toBe(0)
    const login = await ask(app, 'POST', '/auth/login', { body: { email: 'second@example.com', password: PASSWORD } })
    expect(login.status).toBe(200)
    expect(await app.stop()).toBe(0)
  })

  test('read-only: every command reports that, and how to make it writable', async () => {
    remount('ro')
    for (const line of COMMANDS) {
      const { code, stderr } = await command(line)
      expect({ line, code, message: stderr.trim() }).toEqual({
        line,
        code: 1,
        message: expect.stringMatching(
          /^hookswitch: data\/\S+ cannot be used: the disk is read-only .*: mount it writable/,
        ),
      })
    }
    const { stdout } = await command('doctor --listen 127.0.0.1:1')
    expect(stdout).toMatch(/^wrong +store: .*read-only.*\n +→ findmnt .*remount,rw/m)
    expect(stdout).not.toMatch(/damaged|backup|rm -f/)
    remount('rw')
    expect((await command('verify')).stdout).toBe('The store is complete and consistent.\n')
  })

  test('well, with a store that is damaged: a backup is asked for, and nothing is thrown away', async () => {
    const path = join(cwd, 'data/hookswitch.db')
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0xa5, 4_096 * 3, 4_096 * 4))
    const { stdout } = await command('doctor --listen 127.0.0.1:1')
    expect(stdout).toMatch(
      /^wrong +store: data\/hookswitch.db is damaged .*\n +→ stop the service.*hookswitch restore BACKUP --data data /m,
    )
    expect(stdout).not.toMatch(/rm -f|is full/)
    expect(readFileSync(path).equals(bytes)).toBe(true)
  })
})

test('a store that is empty beside its log of changes is refused by serve, named by doctor, and not touched', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  const user = ['user', 'add', '--email', 'a@example.com', '--name', 'A']
  expect((await run(user, { cwd, stdin: PASSWORD })).code).toBe(0)
  const path = join(cwd, 'data/hookswitch.db')
  // A reader keeps the log from being moved into the file.
  const reader = new Sqlite(path)
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM accounts').get()
  expect((await run(['user', 'logout', '--email', 'a@example.com'], { cwd })).code).toBe(0)
  const log = readFileSync(`${path}-wal`)
  reader.close()
  writeFileSync(path, '')
  writeFileSync(`${path}-wal`, log)
  const says = 'data/hookswitch.db is damaged (it is empty, but its log of changes data/hookswitch.db-wal is not)'
  const serve = await run(['serve', '--listen', '127.0.0.1:0'], { cwd })
  expect([serve.code, serve.stderr]).toEqual([1, expect.stringContaining(says)])
  const doctor = await run(['doctor', '--listen', '127.0.0.1:1'], { cwd })
  expect(doctor.stdout).toContain(`wrong   store: ${says}`)
  expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
})

test('many users that are added at once to a new folder wait for their turn', async () => {
  using folder = emptyFolder()
  const added = await Promise.all(
    Array.from({ length: 6 }, (_, n) =>
      run(['user', 'add', '--email', `user${n}@example.com`, '--name', 'A'], { cwd: folder.path, stdin: PASSWORD }),
    ),
  )
  expect(added.map(({ code }) => code)).toEqual(Array(6).fill(0))
  for (const { stderr } of added) expect(stderr).toMatch(/^\S+ was added to the account default, with the id \d\.\n$/)
  expect(added.map(({ stdout }) => Number(stdout)).toSorted()).toEqual([1, 2, 3, 4, 5, 6])
})

test('a backup touches no file but its own', async () => {
  using folder = emptyFolder()
  const cwd = folder.path
  await run(['user', 'add', '--email', 'a@example.com', '--name', 'A'], { cwd, stdin: PASSWORD })
  writeFileSync(join(cwd, 'copy.db.part'), 'another program needs this')
  expect((await run(['backup', 'copy.db'], { cwd })).code).toBe(0)
  expect((await run(['backup', 'copy.db'], { cwd })).code).toBe(1)
  expect((await run(['backup', 'no/such/copy.db'], { cwd })).code).toBe(1)
  expect(readFileSync(join(cwd, 'copy.db.part'), 'utf8')).toBe('another program needs this')
  expect(existsSync(join(cwd, 'copy.db'))).toBe(true)
  const files = new Bun.Glob('*').scanSync({ cwd })
  expect([...files].toSorted()).toEqual(['copy.db', 'copy.db.part'])
})
