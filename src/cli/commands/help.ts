import type { Command } from 'commander'
import { wrongUsage } from '../../lib/usage.ts'
import { print } from '../print.ts'

/** Adds `hookswitch help`: the guides, and the help of each command. */
export function helpCommand(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .argument('[topic...]', 'a guide or a command')
    .description('print a guide, or the help of a command')
    .action(async (topic: string[]) => {
      const { GUIDES } = await import('../../docs/guides.ts')
      const guide = topic.length === 1 ? GUIDES.find(({ name }) => name === topic[0]) : undefined
      const command = commandAt(program, topic)
      if (guide !== undefined) {
        print(guide.text.trimEnd())
        if (command !== undefined) print(`\nThe command: hookswitch ${topic.join(' ')} --help`)
      } else if (topic.length === 0) {
        const width = Math.max(...GUIDES.map(({ name }) => name.length))
        const guides = GUIDES.map(({ name, title }) => `  ${name.padEnd(width)}  ${title}`)
        print(
          `${program.helpInformation()}\nGuides (hookswitch help GUIDE, or Help on the page):\n${guides.join('\n')}`,
        )
      } else if (command === undefined) {
        const names = GUIDES.map(({ name }) => name).join(', ')
        throw wrongUsage(`there is no guide or command '${topic.join(' ')}': the guides are ${names}`)
      } else {
        print(command.helpInformation().trimEnd())
      }
    })
}

/** Returns the command with these words as its path; `undefined` if no command has it. */
function commandAt(program: Command, words: readonly string[]): Command | undefined {
  let found: Command | undefined = program
  for (const word of words) found = found?.commands.find((one) => one.name() === word)
  return found
}
