import type { Random } from './random.ts'

/** Text with a meaning for a PBX, a shell, a terminal or a person's eye. */
const PARTS: readonly string[] = [
  ...'0123456789*#+ ()-./[]',
  ...'"\'<>\\${}^,;:|&=@%`~!?_\t\r\n\0\x1b\u2028\u202e\u200f\ufeff\u00a0\u0660\uff11é',
  '\r\nAction: Command',
  '\r\n\r\nAction: Originate\r\nApplication: System\r\nData: id',
  '\n\napi system id',
  '${SHELL(id)}',
  '$[1+1]',
  '${hash(select/a/b)}',
  '&Local/0900123@from-internal',
  '@from-trunk,1',
  '}sofia/gateway/trunk/0900123',
  '],[origination_uuid=x',
  '&system(id)',
  ' XML public',
  "' inline",
  '%0d%0a',
  '\\r\\n',
  '\ud800',
  '110',
  '+49301234567',
]

/** Returns a hostile value for a number, a name or an extension. */
export function hostileText(random: Random): string {
  const parts = Array.from({ length: random.int(12) }, () => random.pick(PARTS))
  return random.chance(0.3) ? `+4930${parts.join('')}` : parts.join('')
}
