import type { ComponentChildren } from 'preact'
import { Icon, type IconName } from './icon.tsx'

/** Fills the place of a list without items, and explains how to get some. */
export function EmptyState({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={icon} />
      </span>
      <p class="empty-title">{title}</p>
      <div class="empty-text">{children}</div>
    </div>
  )
}

/** Fills the place of a filtered list in which nothing matches. */
export function NoMatches() {
  return (
    <EmptyState icon="filter" title="No matches">
      <p>Remove a filter, or choose a longer time.</p>
    </EmptyState>
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
