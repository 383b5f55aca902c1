import { MIN_PASSWORD_CHARACTERS } from '../auth/auth.ts'
import { Fault } from '../lib/fault.ts'
import { wrongUsage } from '../lib/usage.ts'

/**
 * Reads a new password: it is typed twice at the terminal, without echo, or is one line of standard input.
 * @throws CommanderError (exit code 2) if it is empty, or if the two differ.
 */
export async function readPassword(): Promise<string> {
  if (!process.stdin.isTTY) {
    const line = (await Bun.stdin.text()).split(/\r?\n/, 1)[0] ?? ''
    if (line === '')
      throw wrongUsage('the password is missing: type it at a terminal, or give it as one line of standard input')
    return line
  }
  const [password = '', again] = await ask([
    `Password (at least ${MIN_PASSWORD_CHARACTERS} characters): `,
    'Repeat it: ',
  ])
  if (password === '') throw wrongUsage('the password is empty')
  if (again !== password)
    throw wrongUsage('the two passwords differ: run the command again, and type the same one twice')
  return password
}

const ENTER = ['\r', '\n', '\x04']
const INTERRUPT = '\x03'
const BACKSPACE = ['\b', '\x7f']

/** Reads one line for each prompt from the terminal, without echo. */
async function ask(prompts: readonly string[]): Promise<string[]> {
  const { stdin, stderr } = process
  const lines: string[] = []
  let typed: string[] = []
  stdin.setRawMode(true)
  stdin.setEncoding('utf8')
  try {
    stderr.write(prompts[0] ?? '')
    for await (const chunk of stdin) {
      for (const character of String(chunk)) {
        if (character === INTERRUPT) throw new Fault('invalid', 'interrupted')
        if (BACKSPACE.includes(character)) typed.pop()
        else if (!ENTER.includes(character)) typed.push(character)
        else {
          lines.push(typed.join(''))
          typed = []
          stderr.write(`\n${prompts[lines.length] ?? ''}`)
        }
        if (lines.length === prompts.length) return lines
      }
    }
    return lines
  } finally {
    stdin.setRawMode(false)
    stdin.pause()
  }
}
