import { useEffect, useState } from 'preact/hooks'
import { request } from '../lib/api.ts'
import type { WebhookSecret } from '../lib/resources.ts'
import { CodeBlock, CopyButton } from '../parts/copy.tsx'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Problem, Waiting, When } from '../parts/shown.tsx'
import { say } from '../parts/toast.tsx'

const SAMPLES = {
  JavaScript: (secret: string) => `// npm install standardwebhooks
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook('${secret}')
// The body as it came, before any JSON parser touched it:
const event = webhook.verify(rawBody, request.headers)`,
  Python: (secret: string) => `# pip install standardwebhooks
from standardwebhooks.webhooks import Webhook

webhook = Webhook("${secret}")
# The body as it came, before any JSON parser touched it:
event = webhook.verify(raw_body, request.headers)`,
  PHP: (secret: string) => `// composer require standard-webhooks/standard-webhooks
$webhook = new \\StandardWebhooks\\Webhook('${secret}');
// The body as it came, before any JSON parser touched it:
$event = $webhook->verify($rawBody, $headers);`,
  Go: (secret: string) => `// go get github.com/standard-webhooks/standard-webhooks/libraries
wh, err := standardwebhooks.NewWebhook("${secret}")
// The body as it came, before any JSON parser touched it:
err = wh.Verify(rawBody, request.Header)`,
} as const
type Language = keyof typeof SAMPLES
const LANGUAGES: readonly Language[] = ['JavaScript', 'Python', 'PHP', 'Go']

/** The secret that signs what is sent to one URL, and how a receiver checks it with a ready-made library. */
export function SecretDialog({ url, onClose }: { url: string; onClose: () => void }) {
  const [held, setHeld] = useState<WebhookSecret | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [shown, setShown] = useState(false)
  const [asking, setAsking] = useState(false)
  const [language, setLanguage] = useState<Language>('JavaScript')

  const load = async () => {
    const answer = await request<WebhookSecret[]>('GET', '/integration/webhook/secret')
    if (!answer.ok) return setProblem(answer.message)
    const found = answer.result.find((one) => one.url === url)
    if (found === undefined) return setProblem('This URL is not in the saved list any more.')
    setHeld(found)
  }
  useEffect(() => void load(), [])
  const rotate = async () => {
    setAsking(false)
    const answer = await request<WebhookSecret>('POST', '/integration/webhook/secret/rotate', { url })
    if (!answer.ok) return setProblem(answer.message)
    setHeld(answer.result)
    say('good', 'A new secret signs from now on; the old one signs too for 24 hours.')
  }

  const masked = `whsec_${'•'.repeat(24)}`
  return (
    <Dialog title="Signing secret" onClose={onClose} wide>
      <p class="dialog-url">{url}</p>
      {problem === null ? null : <Problem text={problem} />}
      {held === null ? (
        problem === null ? (
          <Waiting what="the secret" />
        ) : null
      ) : (
        <>
          <div class="secret">
            <output class="secret-text">{shown ? held.secret : masked}</output>
            <button type="button" onClick={() => setShown(!shown)} aria-pressed={shown}>
              <Icon name="eye" /> {shown ? 'Hide' : 'Show'}
            </button>
            <CopyButton text={held.secret} what="secret" />
            <button type="button" onClick={() => setAsking(true)}>
              <Icon name="retry" /> Rotate
            </button>
          </div>
          {held.previous_until === null ? null : (
            <p class="notice">
              The secret before this one signs too until <When at={held.previous_until} day />. Give the receiver the
              new one before then.
            </p>
          )}
          <h3>Verify it in the receiver</h3>
          <p class="dialog-text">
            Requests are signed as the Standard Webhooks specification says, so its ready-made libraries check them; do
            not write your own.
          </p>
          <fieldset class="segmented" aria-label="Language">
            {LANGUAGES.map((name) => (
              <label key={name}>
                <input type="radio" name="language" checked={language === name} onChange={() => setLanguage(name)} />
                {name}
              </label>
            ))}
          </fieldset>
          <CodeBlock text={SAMPLES[language](shown ? held.secret : 'whsec_…')} what={`how to verify in ${language}`} />
        </>
      )}
      {asking ? (
        <Confirm
          title="Rotate this secret?"
          text="A new secret is made for this URL. Both sign for 24 hours, so nothing is lost if the receiver gets the new one within that time."
          action="Rotate"
          onConfirm={rotate}
          onClose={() => setAsking(false)}
        />
      ) : null}
    </Dialog>
  )
}
