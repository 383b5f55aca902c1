import type { ComponentChildren } from 'preact'

const PART = /`([^`]+)`|\*\*([^*]+)\*\*|\[([^\]]+)\]\((https?:\/\/[^)\s]+)\)/g

/** Shows a text with the three kinds of Markdown that descriptions have: code, bold, and links. */
export function InlineText({ text }: { text: string }) {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const { 0: whole, 1: code, 2: bold, 3: link, 4: address = '', index } of text.matchAll(PART)) {
    parts.push(text.slice(end, index))
    if (code !== undefined) parts.push(<code>{code}</code>)
    else if (bold !== undefined) parts.push(<b>{bold}</b>)
    else parts.push(<a href={address}>{link}</a>)
    end = index + whole.length
  }
  return (
    <>
      {parts}
      {text.slice(end)}
    </>
  )
}
