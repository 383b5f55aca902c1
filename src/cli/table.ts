import { harmless, oneLine } from '../lib/terminal-text.ts'
import { print, printError } from './print.ts'

type Cell = string | number | null | undefined

/**
 * Prints a list for people, with a heading above each column and `-` for an empty value. For an empty list it prints
 * one sentence on standard error, so that a program that reads the list finds nothing.
 */
export function printTable(
  headings: readonly string[],
  rows: readonly (readonly Cell[])[],
  { whenEmpty }: { whenEmpty: string },
): void {
  if (rows.length === 0) printError(whenEmpty)
  else for (const line of tableLines(headings, rows)) print(line)
}

/** Returns the lines of a table. Text from outside cannot break a line, and the last column is not padded. */
export function tableLines(headings: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  const cells = [
    headings.map((heading) => heading.replaceAll('_', ' ').toUpperCase()),
    ...rows.map((row) => row.map((cell) => harmless(oneLine(String(cell ?? ''))) || '-')),
  ]
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => Bun.stringWidth(row[column] ?? ''))))
  return cells.map((row) =>
    row
      .map((cell, column) => cell + padding(cell, widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

const padding = (cell: string, width: number): string => ' '.repeat(width - Bun.stringWidth(cell))
