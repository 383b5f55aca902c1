import { Icon } from './icon.tsx'

/** Shows an error and, if the action can be repeated, a button for it. */
export function ErrorMessage({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <p class="error-message" role="alert">
      <Icon name="alert" />
      <span>{text}</span>
      {onRetry === undefined ? null : (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </p>
  )
}
