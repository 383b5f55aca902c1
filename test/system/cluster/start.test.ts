import { describe, expect, test } from 'bun:test'
import { emptyFolder, startServe } from '../../help/app.ts'
import { migratedDatabase, POSTGRES_MISSING } from '../../help/postgres.ts'
import { startTcpProxy } from '../../help/tcp-proxy.ts'

/** The connections break after this many chunks from the node to the database: it is ready after some 60. */
const MOMENTS = [1, 8, 16, 24, 32, 40, 48, 56]
const AT_A_TIME = 4
/** As after a restart of the server, the next connections are refused. */
const REFUSED = 6

describe.skipIf(POSTGRES_MISSING !== undefined)('a node', () => {
  test('starts even if the connections to its database break in the middle of that', async () => {
    using folder = emptyFolder()
    await using database = await migratedDatabase()
    const { hostname, port } = new URL(database.url)

    /** Breaks all connections once, after the node has sent `after` chunks. */
    async function startAndBreak(after: number): Promise<number | string> {
      let chunks = 0
      const proxy = startTcpProxy({ hostname, port: Number(port) }, () => {
        chunks += 1
        if (chunks === after) proxy.breakAll(REFUSED)
      })
      try {
        const url = new URL(database.url)
        url.port = String(proxy.port)
        const pbx = 'ami://any:any@127.0.0.1:1?name=office'
        const node = await startServe({ cwd: folder.path, args: ['--pbx', pbx, '--database-url', url.href] })
        return await node.stop()
      } finally {
        proxy.stop()
      }
    }
    const ended: (number | string)[] = []
    for (let at = 0; at < MOMENTS.length; at += AT_A_TIME)
      ended.push(...(await Promise.all(MOMENTS.slice(at, at + AT_A_TIME).map(startAndBreak))))
    expect(ended).toEqual(MOMENTS.map(() => 0))
  })
})
