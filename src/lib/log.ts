import { fstatSync } from 'node:fs'
import { type LevelWithSilent, type LoggerOptions, pino, stdSerializers } from 'pino'
import { readableLine } from './log-line.ts'
import { escaped, newPaint } from './terminal-text.ts'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * One JSON line a fact. What is logged is chosen by hand: never a password, a token, a secret, or a URL with its user. Phone numbers
 * stand in `from` and `to` alone.
 */
export type Log = Pick<ReturnType<typeof pino>, 'debug' | 'info' | 'warn' | 'error'>

export type LogOptions = {
  readonly maskNumbers?: boolean
  /** For people: on a terminal by default. */
  readonly readable?: boolean
  /** Each line begins with its priority, which systemd takes off: for the journal alone. */
  readonly priorities?: boolean
  readonly write?: (line: string) => void
}

/** As sd-daemon(3) has them. */
const PRIORITIES: Readonly<Record<string, number>> = { trace: 7, debug: 7, info: 6, warn: 4, error: 3, fatal: 2 }

/** Plain pino on standard error: its transports would start worker threads from files, which a compiled file lacks. */
export function createLog(level: LogLevel, options: LogOptions = {}): Log {
  const { maskNumbers = false, priorities = false, readable = process.stderr.isTTY === true } = options
  const wanted: LoggerOptions & { level: LevelWithSilent } = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (name) => ({ level: name }) },
    ...(maskNumbers ? { serializers: MASKING } : {}),
  }
  const write = options.write ?? toStandardError()
  const paint = newPaint(process.stderr.isTTY === true)
  return pino(wanted, {
    write(line: string) {
      if (readable) write(readableLine(line, paint))
      else write(`${priorities ? priorityOf(line) : ''}${escaped(line.trimEnd())}\n`)
    },
  })
}

function toStandardError(): (line: string) => void {
  const destination = pino.destination({ dest: 2, sync: true })
  return (line) => void destination.write(line)
}

/** Of a line as it is written here: the level comes first. */
const priorityOf = (line: string): string => `<${PRIORITIES[/^{"level":"(\w+)"/.exec(line)?.[1] ?? ''] ?? 6}>`

const MASKING = {
  from: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  to: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  err(error: Error) {
    const { type, message, stack } = stdSerializers.err(error)
    return { type, message: maskNumbersIn(message), stack: maskNumbersIn(stack ?? '') }
  },
}

/** Extensions are shorter, and name nobody outside. */
const LEAST_DIGITS = 5
const SHOWN_DIGITS = 2

/** A phone number with all but its last two digits hidden: `15551230001` is `*********01`. Short ones stay as they are. */
export function maskNumber(number: string): string {
  return number.length < LEAST_DIGITS ? number : '*'.repeat(number.length - SHOWN_DIGITS) + number.slice(-SHOWN_DIGITS)
}

/** A text with everything masked in it that may be a number. */
export const maskNumbersIn = (text: string): string => text.replace(/\+?\d{5,}/g, maskNumber)

/**
 * Whether what is written to a file descriptor goes to systemd's journal. The variable is inherited by what a unit starts, also where
 * the output goes elsewhere: so it names the very stream.
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
