import { cell, useCell } from '../lib/state.ts'
import { Icon } from './icon.tsx'

type Toast = { id: number; tone: 'good' | 'bad'; text: string }

const toasts = cell<readonly Toast[]>([])
const STAYS_MS = { good: 4_000, bad: 9_000 } as const
let made = 0

/** Says what just happened, to the eye and to a screen reader. */
export function say(tone: Toast['tone'], text: string): void {
  const toast = { id: ++made, tone, text }
  toasts.update((held) => [...held.slice(-2), toast])
  setTimeout(() => toasts.update((held) => held.filter((other) => other !== toast)), STAYS_MS[tone])
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {useCell(toasts).map((toast) => (
        <p key={toast.id} class={`toast ${toast.tone}`}>
          <Icon name={toast.tone === 'good' ? 'check' : 'alert'} />
          {toast.text}
        </p>
      ))}
    </div>
  )
}
