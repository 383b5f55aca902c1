import { afterAll, describe, expect, test } from 'bun:test'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createLineOutput, type LineLoss, type LineOutput } from '../../src/lib/line-output.ts'
import { emptyFolder } from '../help/app.ts'
import { canMount, mountSmallDisk } from '../help/disk.ts'
import { until } from '../help/receiver.ts'

const folder = emptyFolder()
afterAll(() => folder[Symbol.dispose]())

let pipes = 0

/** A pipe whose reader reads when it is told to. It has 64 KiB. */
function newPipe(flags = 0) {
  pipes += 1
  const path = join(folder.path, `pipe-${pipes}`)
  Bun.spawnSync(['mkfifo', path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, constants.O_WRONLY | flags)
  let text = ''
  const buffer = Buffer.alloc(256 * 1024)
  return {
    writer,
    text: () => text,
    read() {
      try {
        for (let bytes = readSync(reader, buffer); bytes > 0; bytes = readSync(reader, buffer))
          text += buffer.toString('utf8', 0, bytes)
      } catch {
        // Empty for now.
      }
      return text
    },
    /** Fills the pipe, so that the next write would block. */
    fill() {
      const other = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
      try {
        for (;;) writeSync(other, '.'.repeat(4_095).concat('\n'))
      } catch {
        closeSync(other)
      }
    },
    leave: () => closeSync(reader),
  }
}

const line = (number: number) => `line ${number} ${'x'.repeat(200)}\n`
const numbersIn = (text: string) => [...text.matchAll(/^line (\d+) x{200}$/gm)].map(([, number]) => Number(number))
const counted = (to: number) => Array.from({ length: to }, (_, index) => index)

function writeLines(output: LineOutput, count: number) {
  for (const number of counted(count)) output.write(line(number))
}

test('lines arrive whole and in their order, also a megabyte at once', async () => {
  const pipe = newPipe()
  const output = createLineOutput(pipe.writer)
  writeLines(output, 4_000)
  await until('all lines', () => numbersIn(pipe.read()).length === 4_000)
  expect(numbersIn(pipe.text())).toEqual(counted(4_000))
})

describe.each([
  ['a pipe that blocks', 0],
  ['a pipe that another process has set to not block (EAGAIN)', constants.O_NONBLOCK],
])('%s, whose reader does not read', (_, flags) => {
  test('delays nothing; lines beyond the limit are lost, counted, and reported once it reads again', async () => {
    const pipe = newPipe(flags)
    pipe.fill()
    const losses: LineLoss[] = []
    const output = createLineOutput(pipe.writer, {
      maxBytes: 50_000,
      onRecovered(loss) {
        losses.push(loss)
        output.write('recovered\n')
      },
    })
    writeLines(output, 2_000)
    // Both use Bun's thread pool, which has two threads on a small machine.
    await readFile(import.meta.path)
    expect(await Bun.password.verify('password', await Bun.password.hash('password', 'bcrypt'))).toBe(true)
    await output.flush(10)
    expect(numbersIn(pipe.text())).toEqual([])
    await until('the report', () => pipe.read().includes('recovered'))
    const kept = numbersIn(pipe.text())
    expect(kept).toEqual(counted(kept.length))
    expect(losses).toEqual([
      { lines: 2_000 - kept.length, reason: expect.stringContaining('does not read'), lasted: expect.any(String) },
    ])
    // Later lines are written after the report.
    output.write('later\n')
    await until('the next line', () => pipe.read().endsWith('recovered\nlater\n'))
  })
})

test('two outputs to pipes that nobody reads leave the pool of threads free', async () => {
  for (const pipe of [newPipe(), newPipe()]) {
    pipe.fill()
    writeLines(createLineOutput(pipe.writer), 10)
  }
  expect(await readFile(import.meta.path, 'utf8')).toContain('leave the pool of threads free')
})

test('a pipe whose reader has gone fails nothing', async () => {
  const pipe = newPipe()
  const losses: LineLoss[] = []
  const output = createLineOutput(pipe.writer, { maxBytes: 1_000, onRecovered: (loss) => void losses.push(loss) })
  pipe.leave()
  writeLines(output, 100)
  await output.flush(50)
  output.flushNow()
  expect(losses).toEqual([])
})

test('a device that is always full fails nothing', async () => {
  const output = createLineOutput(openSync('/dev/full', 'w'), { maxBytes: 1_000 })
  writeLines(output, 100)
  await output.flush(50)
  output.flushNow()
})

test.skipIf(!canMount)(
  'a file on a full disk: a line that was cut off is completed when there is space, and a loss is reported',
  async () => {
    using place = emptyFolder()
    using _disk = mountSmallDisk(place.path, '64k')
    const path = join(place.path, 'log')
    const filler = join(place.path, 'filler')
    const output: LineOutput = createLineOutput(openSync(path, 'a'), {
      maxBytes: 10_000,
      onRecovered: ({ lines, reason }) => output.write(`lost ${lines}: ${reason}\n`),
    })
    output.write('first\n')
    await output.flush(10_000)
    Bun.spawnSync(['dd', 'if=/dev/zero', `of=${filler}`, 'bs=4096'])
    // The page that the file has takes a part of a line.
    writeLines(output, 1_000)
    await until('the page is full', () => statSync(path).size === 4_096)
    expect(readFileSync(path, 'utf8')).not.toEndWith('\n')
    rmSync(filler)
    await until('the report', () => /^lost \d+: .*\n$/m.test(readFileSync(path, 'utf8')))
    const text = readFileSync(path, 'utf8')
    const kept = numbersIn(text)
    expect(kept).toEqual(counted(kept.length))
    expect(text.split('\n').slice(kept.length + 1)).toEqual([
      expect.stringMatching(new RegExp(`^lost ${1_000 - kept.length}: `)),
      '',
    ])
  },
)

test('what waits is written at once when the process ends', () => {
  const path = join(folder.path, 'fatal')
  const output = createLineOutput(openSync(path, 'a'))
  writeLines(output, 10)
  output.flushNow()
  expect(numbersIn(readFileSync(path, 'utf8'))).toEqual(counted(10))
})
