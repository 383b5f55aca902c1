import type { RefObject } from 'preact'
import { useLayoutEffect } from 'preact/hooks'
import type { FieldError } from '../../../lib/fault.ts'

/** Shows the first error below an element when there are new ones: in a long form it may be out of sight. */
export function useFirstError(root: RefObject<HTMLElement | null>, errors: readonly FieldError[]): void {
  // Before the paint: the user's next key belongs to the field that is shown.
  useLayoutEffect(() => {
    if (errors.length === 0) return
    const first = root.current?.querySelector<HTMLElement>('[aria-invalid="true"], .error')
    first?.scrollIntoView({ block: 'center' })
    if (first instanceof HTMLInputElement) first.focus({ preventScroll: true })
  }, [errors])
}
