import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

export type MenuItem = {
  readonly text: string
  readonly icon?: IconName
  readonly isDanger?: boolean
  readonly isChecked?: boolean
  /** A line above it. */
  readonly isApart?: boolean
  readonly onChoose: () => void
}

type MenuProps = {
  readonly label: string
  readonly items: readonly MenuItem[]
  /** The classes of the button; by default a small one with three dots. */
  readonly styles?: string
  readonly children?: ComponentChildren
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/** Shows a button with a menu of actions; the arrow keys move in it. */
export function Menu({ label, items, styles = 'button quiet small only', children }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = list.current
    if (!isOpen || element === null) return
    element.showPopover()
    placeUnder(element, button.current)
    element.querySelector('button')?.focus()
  }, [isOpen])
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key]
    if (step === undefined) return
    event.preventDefault()
    const focused = document.activeElement
    const buttons: (Element & { focus(): void })[] = [...(list.current?.querySelectorAll('button') ?? [])]
    const at = focused === null ? -1 : buttons.findIndex((one) => one.isSameNode(focused))
    buttons.at((at + step) % buttons.length)?.focus()
  }
  return (
    <>
      <button
        ref={button}
        type="button"
        class={styles}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        {...(children === undefined ? { 'aria-label': label, title: 'More' } : {})}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? <Icon name="more" />}
      </button>
      {isOpen ? (
        <div
          ref={list}
          popover="auto"
          class="pop"
          role="menu"
          aria-label={label}
          onKeyDown={move}
          onToggle={(event) => {
            if (event.newState === 'closed') setOpen(false)
          }}
        >
          {items.map(({ text, icon, isDanger, isChecked, isApart, onChoose }) => (
            <button
              key={text}
              type="button"
              class={`${isDanger === true ? 'bad' : ''}${isApart === true ? ' apart' : ''}`}
              role={isChecked === undefined ? 'menuitem' : 'menuitemradio'}
              {...(isChecked === undefined ? {} : { 'aria-checked': isChecked })}
              onClick={() => {
                list.current?.hidePopover()
                button.current?.focus()
                onChoose()
              }}
            >
              {icon === undefined ? null : <Icon name={icon} />}
              {text}
              {isChecked === true ? <Icon name="check" /> : null}
            </button>
          ))}
        </div>
      ) : null}
    </>
  )
}

const GAP_PX = 4
const EDGE_PX = 8

/** Places a popover under its button, or above it where there is no room. */
function placeUnder(element: HTMLElement, button: HTMLElement | null): void {
  if (button === null) return
  const at = button.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = element
  const left = Math.max(EDGE_PX, Math.min(at.left, innerWidth - width - EDGE_PX))
  const fitsBelow = at.bottom + GAP_PX + height <= innerHeight
  const top = fitsBelow ? at.bottom + GAP_PX : Math.max(EDGE_PX, at.top - GAP_PX - height)
  element.style.left = `${left}px`
  element.style.top = `${top}px`
}
