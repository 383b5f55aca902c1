import type { ComponentChildren } from 'preact'
import type { Call } from '../lib/resources.ts'
import type { Tone } from '../lib/tone.ts'
import { Icon } from './icon.tsx'

/** Shows a state as a mark and a word. */
export function State({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`state ${tone}`}>{children}</span>
}

/** Shows the direction of a call as an icon, red for a missed one. */
export function DirectionIcon({ direction, missed }: Pick<Call, 'direction' | 'missed'>) {
  const text = missed === true ? `${direction}, missed` : direction
  return (
    <span class={missed === true ? 'dir missed' : 'dir'} title={text}>
      <Icon name={direction} />
      <span class="hidden">{text}</span>
    </span>
  )
}
