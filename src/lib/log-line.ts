import { type Colour, harmless, type Paint } from './paint.ts'

const LEVELS: Readonly<Record<number, readonly [string, Colour]>> = {
  10: ['trace', 'dim'],
  20: ['debug', 'dim'],
  30: ['info', 'green'],
  40: ['warn', 'yellow'],
  50: ['error', 'red'],
  60: ['fatal', 'red'],
}

/** A line of the log as people read it: `21:51:36.204 warn  the PBX is not connected  pbx=office reason="…"`. */
export function readableLine(json: string, paint: Paint): string {
  const { time, level, msg = '', err, ...facts }: Record<string, unknown> = JSON.parse(json)
  const [word, colour] = LEVELS[Number(level)] ?? ['log', 'dim']
  const line = [
    paint('dim', String(time).slice(11, 23)),
    paint(colour, word.padEnd(5)),
    harmless(String(msg)),
    ...Object.entries(facts).map(([key, value]) => `${paint('dim', `${key}=`)}${shown(value)}`),
  ]
  return `${line.join(' ')}\n${errorText(err)}`
}

function shown(value: unknown): string {
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
