import { expect, test } from 'bun:test'
import { join } from 'node:path'

const SERVE = join(import.meta.dir, '../../src/cli/commands/serve.ts')
const LOG = join(import.meta.dir, '../../src/lib/log.ts')

/** Runs a program that logs its fatal errors as `serve` does, and then does what is given. */
async function run(fails: string) {
  const program = `
    import { logFatalErrors } from ${JSON.stringify(SERVE)}
    import { createLog } from ${JSON.stringify(LOG)}
    logFatalErrors(createLog('info', { readable: false }), process.exit)
    setInterval(() => {}, 1_000)
    ${fails}`
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'pipe' })
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited])
  return { code, logged: stderr.split('\n').filter((line) => line.startsWith('{')) }
}

test.each([
  ['an error in a timer', `setTimeout(() => { throw new Error('an invariant does not hold') }, 0)`],
  ['a rejection that nothing handles', `void Promise.reject(new Error('an invariant does not hold'))`],
])('%s ends the process, and is a line of the log', async (_, fails) => {
  const { code, logged } = await run(fails)
  expect(code).toBe(1)
  expect(logged).toHaveLength(1)
  expect(JSON.parse(logged[0] ?? '')).toMatchObject({
    level: 'error',
    msg: expect.stringContaining('an internal error ends hookswitch'),
    err: { message: 'an invariant does not hold' },
  })
})
