import { expect, test } from 'bun:test'
import { join } from 'node:path'

const LOG_FATAL_ERRORS = join(import.meta.dir, '../help/log-fatal-errors.ts')

/** Runs a program that logs its fatal errors as `serve` does; `fails` is the code that fails. */
async function run(fails: string) {
  const program = `
    import ${JSON.stringify(LOG_FATAL_ERRORS)}
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
