import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newSecret, signerOf } from '../../src/outbound/signature.ts'
import { emptyFolder } from '../help/app.ts'
import { GUIDE_TEXT } from '../help/guides.ts'
import { reservePort } from '../help/ports.ts'
import { until } from '../help/receiver.ts'

/** The receivers that the guide and the page show: each verifies, drops repeats, and does not go back to an older state. */

const PROGRAMS = [
  { file: 'receiver.mjs', tool: 'node', command: (_port: number, path: string) => ['node', path] },
  { file: 'receiver.mjs', tool: 'bun', command: (_port: number, path: string) => ['bun', path] },
  { file: 'receiver.py', tool: 'python3', command: (_port: number, path: string) => ['python3', path] },
  {
    file: 'receiver.php',
    tool: 'php',
    command: (port: number, path: string) => ['php', '-S', `127.0.0.1:${port}`, path],
  },
  { file: 'receiver.go', tool: 'go', command: (_port: number, path: string) => ['go', 'run', path] },
  { file: 'Receiver.cs', tool: 'dotnet', command: (_port: number, path: string) => ['dotnet', 'run', path] },
]
const EXAMPLES = join(import.meta.dir, '../../src/examples')

test.each(['receiver.mjs', 'receiver.py'])('the guide shows %s unchanged', (file) => {
  expect(GUIDE_TEXT).toContain(`\n${readFileSync(join(EXAMPLES, file), 'utf8')}\`\`\`\n`)
})

/** Compiling Go's standard library anew takes minutes on a slow machine. */
const isLeftOut = (tool: string) => tool === 'go' && process.env.HOOKSWITCH_TEST_LANE === 'fast'

describe.each(PROGRAMS)('$file with $tool', ({ file, tool, command }) => {
  test.skipIf(isLeftOut(tool) || Bun.which(tool) === null)(
    'verifies, drops repeats, and orders by sequence',
    async () => {
      using folder = emptyFolder()
      const [port, secret, before] = [reservePort(), newSecret(), newSecret()]
      const child = Bun.spawn(command(port, join(EXAMPLES, file)), {
        cwd: folder.path,
        env: {
          ...process.env,
          PORT: String(port),
          WEBHOOK_SECRET: secret,
          STATE_FILE: join(folder.path, 'state.json'),
        },
        stdout: 'pipe',
        stderr: 'ignore',
      })
      let printed = ''
      const reading = (async () => {
        for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) printed += chunk
      })()
      const lines = () => printed.split('\n').filter((line) => /^(late|handle) /.test(line))
      const send = async (
        id: string,
        data: object,
        { secrets = [secret], ageS = 0, body = JSON.stringify({ data }) } = {},
      ) => {
        const timestampS = Math.floor(Date.now() / 1_000) - ageS
        const signature = signerOf(secrets)(id, timestampS, JSON.stringify({ data }))
        const headers = { 'webhook-id': id, 'webhook-timestamp': `${timestampS}`, 'webhook-signature': signature }
        return (await fetch(`http://127.0.0.1:${port}/calls`, { method: 'POST', body, headers })).status
      }
      const event = (name: string, sequence: number) => ({
        name,
        sequence,
        call: { id: 'a', from: { name: 'Ä "ö" 😀' } },
      })
      try {
        await until('it answers', () =>
          send('x', {}, { secrets: [before] }).then(
            () => true,
            () => false,
          ),
        )
        const started = event('call_started', 1)
        expect(await send('1', started, { secrets: [before] })).toBe(401)
        expect(await send('1', started, { body: JSON.stringify({ data: event('call_started', 2) }) })).toBe(401)
        expect(await send('1', started, { ageS: 600 })).toBe(401)
        expect(await send('1', started)).toBe(200)
        expect(await send('1', started)).toBe(200)
        expect(await send('3', event('call_ended', 3))).toBe(200)
        // While a secret is being replaced both sign.
        expect(await send('2', event('dial_started', 2), { secrets: [before, secret] })).toBe(200)
        expect(await send('4', { name: 'test', account: 'default' })).toBe(200)
        expect(await send('5', event('call_saved', 4))).toBe(200)
        await until('all are printed', () => lines().length >= 5)
        expect(lines().map((line) => line.trim().replace(/^handle test.*/, 'handle test'))).toEqual([
          'handle call_started 1',
          'handle call_ended 3',
          'late dial_started 2',
          'handle test',
          'handle call_saved 4',
        ])
        // Several requests at once, as from the service: each has its own line.
        const at = printed.length
        for (let round = 0; round < 15; round++) {
          const together = [1, 2, 3, 4, 5, 6, 7, 8].map((n) =>
            send(`${round}-${n}`, { name: 'test', account: 'default' }),
          )
          expect(await Promise.all(together)).toEqual(together.map(() => 200))
        }
        await until('these are printed too', () => printed.slice(at).split('handle').length > 120)
        expect(printed.slice(at)).not.toMatch(/handle.*handle/)
      } finally {
        // `go run` starts another process.
        Bun.spawnSync(['sh', '-c', `for p in $(cat /proc/${child.pid}/task/*/children 2>/dev/null); do kill $p; done`])
        child.kill()
        await child.exited
        await reading
      }
    },
  )
})
