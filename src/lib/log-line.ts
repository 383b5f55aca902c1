import { type Colour, harmless, type Paint } from './terminal-text.ts'

const COLOURS: Readonly<Record<string, Colour>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'green',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
}

/** Formats a JSON log line for people: `21:51:36.204 warn  the PBX is not connected  pbx=office reason="…"`. */
export function readableLine(json: string, paint: Paint): string {
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
