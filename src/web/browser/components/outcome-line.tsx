import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** Shows on one line how a trial ended. */
export function OutcomeLine({ isGood, children }: { isGood: boolean; children: ComponentChildren }) {
  return (
    <p class={isGood ? 'outcome good' : 'outcome bad'}>
      <Icon name={isGood ? 'check' : 'cross'} />
      {children}
    </p>
  )
}
