import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

type FoldProps = {
  readonly title: string
  /** Its present value, so that nothing that is set is hidden. */
  readonly value: string
  readonly isOpen?: boolean
  readonly onOpen?: () => void
  readonly children: ComponentChildren
}

/** Shows a part that is folded away, with its present value. */
export function Fold({ title, value, isOpen = false, onOpen, children }: FoldProps) {
  return (
    <details
      class="fold"
      open={isOpen}
      onToggle={(event) => event.currentTarget.open && onOpen?.()}
      // The browser shows the error of a field only where the field can be seen.
      onInvalidCapture={(event) => {
        event.currentTarget.open = true
      }}
    >
      <summary>
        <Icon name="next" />
        <b>{title}</b>
        <span>{value}</span>
      </summary>
      <div>{children}</div>
    </details>
  )
}
