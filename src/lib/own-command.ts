/**
 * Returns the command line that starts this program, without arguments: the executable, or Bun with its source file.
 */
export function ownCommand(argv: readonly string[], execPath: string): string[] {
  const [, script = ''] = argv
  return script === '' || script.startsWith('/$bunfs/') ? [execPath] : [execPath, script]
}
