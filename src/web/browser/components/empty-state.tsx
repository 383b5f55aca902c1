import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

/** Fills the place of a list without items, and explains how to get some. */
export function EmptyState({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** Fills the place of something that is still being read. */
export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what}…
    </p>
  )
}
