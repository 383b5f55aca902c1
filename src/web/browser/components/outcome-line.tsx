import type { ComponentChildren } from 'preact'
import { State } from './state.tsx'

/** Shows on one line how a trial ended. */
export function OutcomeLine({ isGood, children }: { isGood: boolean; children: ComponentChildren }) {
  return (
    <p class="outcome">
      <State tone={isGood ? 'good' : 'bad'}>{children}</State>
    </p>
  )
}
