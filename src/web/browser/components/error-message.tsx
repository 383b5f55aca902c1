import { Icon } from './icon.tsx'

/** Shows an error and, if the action can be repeated, a button for it. */
export function ErrorMessage({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <Icon name="alert" />
      <p>{text}</p>
      {onRetry === undefined ? null : (
        <button class="button small push" type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
