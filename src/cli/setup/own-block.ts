/** How a file marks a comment. */
type CommentStyle = { readonly open: string; readonly close: string }

/** Comments of Asterisk's files. */
export const ASTERISK_COMMENT: CommentStyle = { open: '; ', close: '' }

const BEGIN = 'hookswitch begin: written by hookswitch pbx setup, removed by hookswitch pbx setup --undo'
const END = 'hookswitch end'

const marked = (text: string, { open, close }: CommentStyle) => `${open}${text}${close}`

/** The place of Hookswitch's lines in a file: from the start of the first mark to the end of the second one. */
function blockOf(text: string, style: CommentStyle): { readonly from: number; readonly to: number } | undefined {
  let at = 0
  let from = -1
  for (const line of text.split('\n')) {
    // An editor may have changed the line ends.
    const bare = line.trimEnd()
    if (bare === marked(BEGIN, style)) from = at
    else if (from >= 0 && bare === marked(END, style)) return { from, to: Math.min(text.length, at + line.length + 1) }
    at += line.length + 1
  }
  return undefined
}

/** Returns Hookswitch's lines in a file, without the marks around them; `undefined` if it has none. */
export function ownLines(text: string, style: CommentStyle): string[] | undefined {
  const block = blockOf(text, style)
  return block === undefined
    ? undefined
    : text
        .slice(block.from, block.to)
        .trimEnd()
        .split('\n')
        .slice(1, -1)
        .map((line) => line.trimEnd())
}

/** Returns whether a file has one of the marks: the lines between them may still be there. */
export const hasMark = (text: string, style: CommentStyle): boolean =>
  text.split('\n').some((line) => [BEGIN, END].some((mark) => line.trimEnd() === marked(mark, style)))

/** Returns a file's text with Hookswitch's lines at its end, replacing earlier ones. The rest stays. */
export function withOwnLines(text: string, lines: readonly string[], style: CommentStyle): string {
  const bare = withoutOwnLines(text, style)
  const block = [marked(BEGIN, style), ...lines, marked(END, style), ''].join('\n')
  return bare === '' ? block : `${bare}\n${block}`
}

/** Returns a file's text without Hookswitch's lines, exactly as it was before. */
export function withoutOwnLines(text: string, style: CommentStyle): string {
  const block = blockOf(text, style)
  if (block === undefined) return text
  const [mark = ''] = text.slice(block.from).split('\n', 1)
  // A line break stands before the lines, unless they are the whole file.
  const lineBreak = mark.endsWith('\r') ? 2 : 1
  return text.slice(0, Math.max(0, block.from - lineBreak)) + text.slice(block.to)
}
