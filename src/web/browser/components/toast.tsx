import { useLayoutEffect, useRef } from 'preact/hooks'
import { observable, useObservable } from '../lib/observable.ts'
import { Icon } from './icon.tsx'

type Toast = { readonly id: number; readonly tone: 'good' | 'bad'; readonly text: string }

const MAX_TOASTS = 3
const SHOWN_MS = 5_000

const toasts = observable<readonly Toast[]>([])
let lastId = 0

const close = (toast: Toast) => toasts.update((shown) => shown.filter((other) => other !== toast))

/** Shows a short message, to the eye and to a screen reader: for some seconds, or an error until it is closed. */
export function showToast(tone: Toast['tone'], text: string): void {
  const toast = { id: ++lastId, tone, text }
  toasts.update((shown) => [...shown.slice(1 - MAX_TOASTS), toast])
  if (tone === 'good') setTimeout(() => close(toast), SHOWN_MS)
}

/** Shows the messages of `showToast`; the page has this once. */
export function Toasts() {
  const shown = useObservable(toasts)
  const element = useRef<HTMLDivElement>(null)
  // A popover that is shown last is above a drawer, too.
  useLayoutEffect(() => {
    element.current?.hidePopover()
    if (shown.length > 0) element.current?.showPopover()
  }, [shown])
  return (
    <div ref={element} class="toasts" popover="manual" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div key={toast.id} class={`toast ${toast.tone}`}>
          <Icon name={toast.tone === 'good' ? 'check' : 'alert'} />
          <p>{toast.text}</p>
          <button type="button" class="button quiet small only" aria-label="Close" onClick={() => close(toast)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  )
}
