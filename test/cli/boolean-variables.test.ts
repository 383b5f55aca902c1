import { afterEach, expect, test } from 'bun:test'
import { Command } from 'commander'
import { nameVariables } from '../../src/cli/options.ts'

const VARIABLE = 'HOOKSWITCH_LOG_MASK_NUMBERS'

afterEach(() => void delete process.env[VARIABLE])

function read(text: string): unknown {
  process.env[VARIABLE] = text
  const command = new Command().option('--log-mask-numbers', 'masks')
  nameVariables(command, process.env)
  return command.parse([], { from: 'user' }).opts().logMaskNumbers
}

test.each([
  ['true', true],
  ['1', true],
  ['YES', true],
  ['on', true],
  ['false', undefined],
  ['0', undefined],
  ['no', undefined],
  ['Off', undefined],
  ['', undefined],
])('the variable of a switch may be %p', (text, value) => expect(read(text)).toBe(value))

test.each(['maybe', '2', 'true ', 'nein'])('the variable of a switch may not be %p', (text) =>
  expect(() => read(text)).toThrow(`--log-mask-numbers (${VARIABLE}) is ${JSON.stringify(text)}: give true or false`),
)
