import type { ComponentChildren } from 'preact'
import { routeHref } from '../lib/router.ts'

type GuideLinkProps = {
  guide: string
  /** The anchor of a section; without one the link leads to the guide's beginning. */
  anchor?: string
  children: ComponentChildren
}

/** Links to a guide of the page's help, in a new tab, so that a form keeps its input. */
export function GuideLink({ guide, anchor, children }: GuideLinkProps) {
  return (
    <a href={`/help${routeHref(guide, anchor ?? null)}`} target="_blank" rel="noopener">
      {children}
    </a>
  )
}
