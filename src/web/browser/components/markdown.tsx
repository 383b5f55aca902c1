import { lexer, type Token, type Tokens } from 'marked'
import { Fragment } from 'preact'
import { anchorOf } from '../lib/guide-search.ts'
import { CodeBlock } from './code-block.tsx'

type MarkdownProps = {
  readonly text: string
  /** Returns the address of a link; a link to a file that is not part of the page has none. */
  readonly hrefOf: (target: string) => string | null
}

/** Shows Markdown as elements, so that no text becomes markup. HTML in it is shown as text. */
export function Markdown({ text, hrefOf }: MarkdownProps) {
  return <>{all(lexer(text), hrefOf)}</>
}

type HrefOf = MarkdownProps['hrefOf']

const all = (tokens: readonly Token[] | undefined, hrefOf: HrefOf) =>
  (tokens ?? []).map((token, at) => <Fragment key={at}>{element(token, hrefOf)}</Fragment>)

/** Returns the element of a token. The parser's type of tokens has a member for extensions, so `type` narrows none. */
function element(token: Token, hrefOf: HrefOf) {
  const inner = 'tokens' in token ? all(token.tokens, hrefOf) : null
  switch (token.type) {
    case 'space':
      return null
    case 'heading': {
      const { depth, text } = token as Tokens.Heading
      if (depth === 1) return <h1>{inner}</h1>
      return depth === 2 ? <h2 id={anchorOf(text)}>{inner}</h2> : <h3 id={anchorOf(text)}>{inner}</h3>
    }
    case 'paragraph':
      return <p>{inner}</p>
    case 'code':
      return <CodeBlock text={token.text} label={token.lang ? `Example (${token.lang})` : 'Example'} />
    case 'list': {
      const { ordered, items } = token as Tokens.List
      const rows = items.map((item, at) => <li key={at}>{all(item.tokens, hrefOf)}</li>)
      return ordered ? <ol>{rows}</ol> : <ul>{rows}</ul>
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table
      const hasHeader = header.some(({ text }) => text !== '')
      return (
        <div class="table">
          <table>
            {hasHeader ? (
              <thead>
                <tr>
                  {header.map((cell, at) => (
                    <th key={at}>{all(cell.tokens, hrefOf)}</th>
                  ))}
                </tr>
              </thead>
            ) : null}
            <tbody>
              {rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column}>{all(cell.tokens, hrefOf)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )
    }
    case 'blockquote':
      return <blockquote>{inner}</blockquote>
    case 'strong':
      return <b>{inner}</b>
    case 'em':
      return <em>{inner}</em>
    case 'codespan':
      return <code>{token.text}</code>
    case 'br':
      return <br />
    case 'link': {
      const href = hrefOf((token as Tokens.Link).href)
      return href === null ? inner : <a href={href}>{inner}</a>
    }
    case 'text':
      return inner === null ? token.text : inner
    default:
      return <>{token.raw}</>
  }
}
