import { type LevelWithSilent, type LoggerOptions, pino, stdSerializers } from 'pino'
import { readableLine } from './log-line.ts'
import { maskNumber, maskNumbersIn } from './mask.ts'
import { newPaint } from './paint.ts'

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
  readonly write?: (line: string) => void
}

const toStandardOutput = (line: string): void => void process.stdout.write(line)

/** Plain pino on standard output: its transports would start worker threads from files, which a compiled file lacks. */
export function createLog(level: LogLevel, options: LogOptions = {}): Log {
  const { maskNumbers = false, readable = process.stdout.isTTY === true, write } = options
  const wanted: LoggerOptions & { level: LevelWithSilent } = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(maskNumbers ? { serializers: MASKING } : {}),
  }
  if (!readable && write === undefined) return pino(wanted)
  const paint = newPaint()
  const put = write ?? toStandardOutput
  return pino(wanted, { write: readable ? (line: string) => put(readableLine(line, paint)) : put })
}

const MASKING = {
  from: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  to: (value: unknown) => (typeof value === 'string' ? maskNumber(value) : value),
  err(error: Error) {
    const { type, message, stack } = stdSerializers.err(error)
    return { type, message: maskNumbersIn(message), stack: maskNumbersIn(stack ?? '') }
  },
}
