/** How a file marks a comment. */
type CommentStyle = { readonly open: string; readonly close: string }

/** Comments of Asterisk's files. */
export const ASTERISK_COMMENT: CommentStyle = { open: '; ', close: '' }

const BEGIN = 'hookswitch begin: written by hookswitch pbx setup, removed by hookswitch pbx setup --undo'
const END = 'hookswitch end'

const marked = (text: string, { open, close }: CommentStyle) => `${open}${text}${close}`

/** Returns Hookswitch's lines in a file, without the marks around them; `undefined` if it has none. */
export function ownLines(text: string, style: CommentStyle): string[] | undefined {
  const lines = text.split('\n')
  const from = lines.indexOf(marked(BEGIN, style))
  const to = lines.indexOf(marked(END, style))
  return from === -1 || to < from ? undefined : lines.slice(from + 1, to)
}

/** Returns a file's text with Hookswitch's lines at its end, replacing earlier ones. The rest stays. */
export function withOwnLines(text: string, lines: readonly string[], style: CommentStyle): string {
  const bare = withoutOwnLines(text, style)
  const block = [marked(BEGIN, style), ...lines, marked(END, style), ''].join('\n')
  return bare === '' ? block : `${bare}\n${block}`
}

/** Returns a file's text without Hookswitch's lines, exactly as it was before. */
export function withoutOwnLines(text: string, style: CommentStyle): string {
  const end = `${marked(END, style)}\n`
  const from = text.indexOf(`${marked(BEGIN, style)}\n`)
  const to = text.indexOf(end, from)
  // A line break stands before the lines, unless they are the whole file.
  return from === -1 || to === -1 ? text : text.slice(0, Math.max(0, from - 1)) + text.slice(to + end.length)
}
