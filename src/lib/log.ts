import { fstatSync } from 'node:fs'
import { type LevelWithSilent, type LoggerOptions, pino, stdSerializers } from 'pino'
import { onLinesLost, standardError } from './standard-streams.ts'
import { type Colour, escaped, harmless, newPaint, type Paint } from './terminal-text.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * One JSON line for each entry. Fields are chosen by hand: never a password, a token or a secret; the URL of a webhook
 * only after `loggedUrl`. Phone numbers are only in `from` and `to`.
 */
export type Log = Pick<ReturnType<typeof pino>, 'debug' | 'info' | 'warn' | 'error'>

type LogOptions = {
  readonly maskNumbers?: boolean
  /** Formats lines for people instead of JSON; by default on a terminal. */
  readonly readable?: boolean
  /** Starts each line with its syslog priority, which systemd's journal reads and removes. */
  readonly priorities?: boolean
  readonly write?: (line: string) => void
}

/** The syslog priorities of sd-daemon(3). */
const PRIORITIES: Readonly<Record<string, number>> = { trace: 7, debug: 7, info: 6, warn: 4, error: 3, fatal: 2 }

/**
 * Creates a log that writes to standard error; the process flushes it at its end (standard-streams). Lines that were
 * lost, since nobody read them or the disk was full, are reported once writing works again. Without pino's transports:
 * they start threads from files that a compiled executable lacks.
 */
export function createLog(level: LogLevel, options: LogOptions = {}): Log {
  const { maskNumbers = false, priorities = false, readable = process.stderr.isTTY === true } = options
  const wanted: LoggerOptions & { level: LevelWithSilent } = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (name) => ({ level: name }) },
    ...(maskNumbers ? { serializers: MASKING } : {}),
  }
  const write = options.write ?? ((line: string) => standardError().write(line))
  const paint = newPaint(process.stderr.isTTY === true)
  const log = pino(wanted, {
    write(line: string) {
      if (readable) write(readableLine(line, paint))
      else write(`${priorities ? priorityOf(line) : ''}${escaped(line.trimEnd())}\n`)
    },
  })
  if (options.write === undefined)
    onLinesLost(({ lines, reason, lasted }) =>
      log.warn({ lines, reason, lasted }, 'lines of the log were lost here, because they could not be written'),
    )
  return log
}

/** Returns the priority prefix of a JSON line, whose first key is the level. */
const priorityOf = (line: string): string => `<${PRIORITIES[/^{"level":"(\w+)"/.exec(line)?.[1] ?? ''] ?? 6}>`

const MASKING = {
  from: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  to: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  err(error: Error) {
    const { type, message, stack } = stdSerializers.err(error)
    return { type, message: maskNumbersIn(message), stack: maskNumbersIn(stack ?? '') }
  },
}

/** Extensions are shorter, and identify no outside party. */
const LEAST_DIGITS = 5
const VISIBLE_DIGITS = 2

/**
 * Masks all but the last two digits of a phone number: `15551230001` becomes `*********01`. Extensions stay readable.
 */
function maskNumber(number: string): string {
  return number.length < LEAST_DIGITS
    ? number
    : '*'.repeat(number.length - VISIBLE_DIGITS) + number.slice(-VISIBLE_DIGITS)
}

/** Masks everything in a text that may be a phone number. */
const maskNumbersIn = (text: string): string => text.replace(/\+?\d{5,}/g, maskNumber)

/**
 * Returns whether a file descriptor is connected to systemd's journal. `JOURNAL_STREAM` alone does not prove it,
 * because child processes inherit it even when their output is redirected: so the stream itself is compared.
 */
export function isJournal(fd: number, journalStream = process.env.JOURNAL_STREAM): boolean {
  if (journalStream === undefined) return false
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true })
    return journalStream === `${dev}:${ino}`
  } catch {
    return false
  }
}

const COLOURS: Readonly<Record<string, Colour>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
}

/** Formats a JSON log line for people: `21:51:36.204 warn  the PBX is not connected  pbx=office reason="…"`. */
function readableLine(json: string, paint: Paint): string {
  const { time, level, msg = '', err, ...facts }: Record<string, unknown> = JSON.parse(json)
  const word = String(level)
  const line = [
    paint('dim', String(time).slice(11, 23)),
    paint(COLOURS[word] ?? 'dim', word.padEnd(5)),
    harmless(String(msg)),
    ...Object.entries(facts).map(([key, value]) => `${paint('dim', `${key}=`)}${formatted(value)}`),
  ]
  return `${line.join(' ')}\n${errorText(err)}`
}

function formatted(value: unknown): string {
  if (typeof value !== 'string') return harmless(JSON.stringify(value) ?? '')
  return harmless(/^[^\s"=]+$/.test(value) ? value : JSON.stringify(value))
}

function errorText(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const text = 'stack' in err && typeof err.stack === 'string' ? err.stack : JSON.stringify(err)
  return text
    .split('\n')
    .map((line) => `    ${harmless(line.trim())}\n`)
    .join('')
}
