/**
 * Returns the command line that starts this program, without arguments: the executable alone, or Bun with the source
 * that it was given.
 */
export function ownCommand(argv: readonly string[], execPath: string): string[] {
  const [, script = ''] = argv
  return script === '' || script.startsWith('/$bunfs/') ? [execPath] : [execPath, script]
}
