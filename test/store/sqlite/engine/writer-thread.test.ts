import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Fault } from '../../../../src/lib/fault.ts'
import { openDatabase } from '../../../../src/store/sqlite/engine/database.ts'
import { storeOver } from '../../../../src/store/sqlite/store-over.ts'
import { emptyFolder } from '../../../help/app.ts'
import { type Death, dyingThread } from '../../../help/dying-thread.ts'

const user = (email: string) => ({ account: 'default', type: 1, name: 'N', email, passwordHash: 'x', atUs: 1 })

describe("when the writer's thread ends by itself", () => {
  test.each([
    ['throws', 'the thread that writes to the store has ended: out of luck'],
    ['exits', 'the thread that writes to the store has ended: it gave no reason'],
    [
      'cannot open',
      'the thread that writes to the store has ended: it cannot open /no/such/folder/hookswitch.db: the disk reports an error (unable to open database file)',
    ],
  ] as const)('it %s: what it was given is refused, and the reason is reported once', async (death, reason) => {
    using folder = emptyFolder()
    const reasons: string[] = []
    const ended = Promise.withResolvers<void>()
    const db = openDatabase(join(folder.path, 'hookswitch.db'), {
      thread: dyingThread(death),
      onThreadEnded({ message }) {
        reasons.push(message)
        ended.resolve()
      },
    })
    const refused = (email: string) =>
      storeOver(db)
        .accounts.userCreate(user(email))
        .catch((error: unknown) => error)
    const first = refused('a@example.com')
    await ended.promise
    for (const error of [await first, await refused('b@example.com')]) {
      expect(error).toBeInstanceOf(Fault)
      expect(error).toMatchObject({
        code: 'unavailable',
        message: 'cannot write to the store: the thread that writes to it has ended',
      })
    }
    await db.stop()
    expect(reasons).toEqual([reason])
  })

  test.each(['throws', 'exits', 'cannot open'] satisfies Death[])(
    'it %s: the process ends with the reason in its log, so that its service manager starts it again',
    async (death) => {
      using folder = emptyFolder()
      const source = `
        import ${JSON.stringify(join(import.meta.dir, '../../../help/log-fatal-errors.ts'))}
        import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, '../../../../src/store/sqlite/store.ts'))}
        import { dyingThread } from ${JSON.stringify(join(import.meta.dir, '../../../help/dying-thread.ts'))}
        const store = openSqliteStore('hookswitch.db', { thread: dyingThread(${JSON.stringify(death)}) })
        // The service writes again and again too.
        setInterval(() => store.maintenance.writeProbe().catch(() => undefined), 20)`
      const child = Bun.spawn([process.execPath, '-e', source], { cwd: folder.path, stdout: 'pipe', stderr: 'pipe' })
      const text = (await new Response(child.stderr).text()) + (await new Response(child.stdout).text())
      expect(await child.exited).toBe(1)
      const lines = text.split('\n').filter((line) => line.includes('an internal error ends hookswitch'))
      expect(lines).toHaveLength(1)
      expect(lines[0]).toContain('the thread that writes to the store has ended: ')
    },
  )
})
