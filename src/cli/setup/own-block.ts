/** How a file marks a comment. */
type CommentStyle = { readonly open: string; readonly close: string }

/** Comments of Asterisk's files. */
export const ASTERISK_COMMENT: CommentStyle = { open: '; ', close: '' }

const BEGIN = 'hookswitch begin: written by hookswitch pbx setup, removed by hookswitch pbx setup --undo'
const END = 'hookswitch end'

const marked = (text: string, { open, close }: CommentStyle) => `${open}${text}${close}`

/** Returns the lines that are ours in a file, without the marks around them; `undefined` if it has none. */
export function ownLines(text: string, style: CommentStyle): string[] | undefined {
  const lines = text.split('\n')
  const from = lines.indexOf(marked(BEGIN, style))
  const to = lines.indexOf(marked(END, style))
  return from === -1 || to < from ? undefined : lines.slice(from + 1, to)
}

/** Returns a file's text with our lines at its end, in place of those that are ours already. The rest stays. */
export function withOwnLines(text: string, lines: readonly string[], style: CommentStyle): string {
  const bare = withoutOwnLines(text, style)
  const block = [marked(BEGIN, style), ...lines, marked(END, style), ''].join('\n')
  return bare === '' ? block : `${bare}\n${block}`
}

/** Returns a file's text as it was before our lines, to the byte. */
export function withoutOwnLines(text: string, style: CommentStyle): string {
  const end = `${marked(END, style)}\n`
  const from = text.indexOf(`${marked(BEGIN, style)}\n`)
  const to = text.indexOf(end, from)
  // A line end stands before our lines, unless they are all of the file.
  return from === -1 || to === -1 ? text : text.slice(0, Math.max(0, from - 1)) + text.slice(to + end.length)
}
