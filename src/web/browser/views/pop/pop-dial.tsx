import { useState } from 'preact/hooks'
import { FormField } from '../../components/form-field.tsx'
import { callableNumber, makeCall, rememberedForm } from '../../lib/call-from-phone.ts'
import { popPbx } from '../../lib/pop-address.ts'

type PopDialProps = { number: string; name: string | null; extension: string | null }

/** Shows a button that calls a number from the extension, or a field for an unknown extension. */
export function PopDial({ number, name, extension }: PopDialProps) {
  const [from, setFrom] = useState(extension ?? rememberedForm().from)
  const [said, setSaid] = useState<{ readonly isError: boolean; readonly text: string } | null>(null)
  const [isBusy, setBusy] = useState(false)
  const callable = callableNumber(number)
  if (callable === null) return <p class="hint">This is no number that a phone can dial.</p>
  const dial = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    const made = await makeCall({ number: callable, name }, { from, pbx: popPbx })
    setBusy(false)
    setSaid(
      'message' in made
        ? { isError: true, text: made.errors.map(({ message }) => message).join(' ') || made.message }
        : { isError: false, text: 'Your phone rings. When you pick it up, it dials the number.' },
    )
  }
  return (
    <form class="caller-dial" onSubmit={(event) => void dial(event)}>
      {extension !== null ? null : (
        <FormField label="From my phone" name="from" value={from} onInput={setFrom} placeholder="101" required />
      )}
      <button type="submit" class="button" disabled={isBusy}>
        {isBusy ? 'Calling…' : `Call ${callable}`}
      </button>
      {said === null ? null : (
        <p class={said.isError ? 'error' : 'hint'} role={said.isError ? 'alert' : 'status'}>
          {said.text}
        </p>
      )}
    </form>
  )
}
