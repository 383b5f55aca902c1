import { observable, useObservable } from '../lib/observable.ts'
import { Icon } from './icon.tsx'

type Toast = { id: number; tone: 'good' | 'bad'; text: string }

const MAX_TOASTS = 3
/** Bad news takes longer to read. */
const SHOWN_MS = { good: 4_000, bad: 9_000 } as const

const toasts = observable<readonly Toast[]>([])
let lastId = 0

/** Shows a short message for some seconds, to the eye and to a screen reader. */
export function showToast(tone: Toast['tone'], text: string): void {
  const toast = { id: ++lastId, tone, text }
  toasts.update((shown) => [...shown.slice(1 - MAX_TOASTS), toast])
  setTimeout(() => toasts.update((shown) => shown.filter((other) => other !== toast)), SHOWN_MS[tone])
}

/** Shows the messages of `showToast`; the page has this once. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useObservable(toasts).map((toast) => (
        <p key={toast.id} class={`toast ${toast.tone}`}>
          <Icon name={toast.tone === 'good' ? 'check' : 'alert'} />
          {toast.text}
        </p>
      ))}
    </div>
  )
}
