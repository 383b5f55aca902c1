import { areCallsOff, callableNumber, wantedCall } from '../lib/call-from-phone.ts'
import { overview } from '../lib/connection.ts'
import { partyTexts } from '../lib/contact.ts'
import { useObservable } from '../lib/observable.ts'
import type { Party } from '../lib/resources.ts'
import { Icon } from './icon.tsx'

/** Shows the button that calls a party from the reader's phone; nothing if it has no number, or no PBX makes calls. */
export function CallButton({ party }: { party: Party }) {
  const isOff = useObservable(areCallsOff)
  const makesCalls = useObservable(overview)?.pbxs.some(({ calls }) => calls) ?? false
  const number = callableNumber(party.extension ?? party.number)
  if (isOff || !makesCalls || number === null) return null
  const { main } = partyTexts(party)
  const name = main === number || main === party.number ? null : main
  return (
    <button
      type="button"
      class="button quiet small only"
      aria-label={`Call ${main} from my phone`}
      title={`Call ${number} from my phone`}
      onClick={() => wantedCall.set({ number, name })}
    >
      <Icon name="calls" />
    </button>
  )
}
