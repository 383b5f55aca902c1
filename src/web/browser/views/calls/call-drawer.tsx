import { useEffect, useId, useState } from 'preact/hooks'
import { Drawer } from '../../components/dialog.tsx'
import { DialogForm } from '../../components/dialog-form.tsx'
import { FieldErrors, FormField, SelectField } from '../../components/form-field.tsx'
import { showToast } from '../../components/toast.tsx'
import { errorText, request } from '../../lib/api.ts'
import {
  type CallForm,
  callableNumber,
  type MadeCall,
  makeCall,
  pbxsOf,
  rememberedForm,
  type Wanted,
  wantedCall,
} from '../../lib/call-from-phone.ts'
import { overview } from '../../lib/connection.ts'
import { useObservable } from '../../lib/observable.ts'
import type { Phone } from '../../lib/resources.ts'
import { routeHref } from '../../lib/router.ts'
import { accessToken } from '../../lib/session.ts'
import { useForm } from '../../lib/use-form.ts'

/** Asks from which phone a number is called, and calls it when its button is pressed. */
export function CallDrawer() {
  const wanted = useObservable(wantedCall)
  if (wanted === null) return null
  return <WantedCall key={wanted.number} wanted={wanted} onClose={() => wantedCall.set(null)} />
}

function WantedCall({ wanted, onClose }: { wanted: Wanted; onClose: () => void }) {
  const [made, setMade] = useState<MadeCall | null>(null)
  const number = callableNumber(wanted.number)
  return (
    <Drawer title={`Call ${wanted.name ?? wanted.number}`} onClose={onClose}>
      {number === null ? (
        <div class="drawer-body">
          <p class="part">
            <bdi>{wanted.number}</bdi> is no number that a phone can dial: it has digits, *, # and a + before them.
          </p>
        </div>
      ) : made === null ? (
        <PhoneForm wanted={{ ...wanted, number }} onMade={setMade} onClose={onClose} />
      ) : (
        <Ringing made={made} number={number} onClose={onClose} />
      )}
    </Drawer>
  )
}

type PhoneFormProps = { wanted: Wanted; onMade: (made: MadeCall) => void; onClose: () => void }

function PhoneForm({ wanted, onMade, onClose }: PhoneFormProps) {
  const phones = usePhones()
  const list = useId()
  const form = useForm<CallForm>({
    load: rememberedForm(),
    save: async (value) => {
      const outcome = await makeCall(wanted, value)
      if ('message' in outcome) return outcome
      onMade(outcome)
      return { saved: value }
    },
  })
  const { value, errors, error, isBusy, set } = form
  const known = pbxsOf(phones, value?.from ?? '')
  const isAsked = errors.some(({ path }) => path === '/pbx')
  const others = useObservable(overview)?.pbxs.map(({ name }) => name) ?? []
  const pbxs = known.length > 1 ? known : isAsked ? others : []
  return (
    <DialogForm
      errors={errors.filter(({ path }) => path !== '/from')}
      error={error}
      action={isBusy ? 'Calling…' : `Call ${wanted.number}`}
      disabled={isBusy}
      onSubmit={() => void form.submit()}
      onClose={onClose}
    >
      {value === null ? null : (
        <div class="part fields">
          <FormField
            label="From my phone"
            name="from"
            value={value.from}
            onInput={(from) => set({ from, pbx: '' })}
            errors={errors}
            list={list}
            placeholder="101"
            hint="Your extension; this browser remembers it. It rings first, then the number is dialled."
            required
          />
          <datalist id={list}>
            {phones.map(({ extension, name, pbx }) => (
              <option key={`${pbx} ${extension}`} value={extension}>
                {name}
              </option>
            ))}
          </datalist>
          {pbxs.length === 0 ? null : (
            <SelectField
              label="PBX"
              value={value.pbx}
              options={[['', 'Choose'], ...pbxs.map((name) => [name, name] as const)]}
              onChange={(pbx) => set({ ...value, pbx })}
              hint={errors.find(({ path }) => path === '/pbx')?.message ?? 'Several have this extension.'}
            />
          )}
        </div>
      )}
      <FieldErrors errors={errors.filter(({ path }) => path === '/to' || path === '/name')} />
    </DialogForm>
  )
}

/** Returns the phones that the PBXs show, as proposals. */
function usePhones(): readonly Phone[] {
  const [phones, setPhones] = useState<readonly Phone[]>([])
  useEffect(() => {
    const token = accessToken.get()
    void request<Phone[]>('GET', '/phone').then((response) => {
      if (response.ok && accessToken.get() === token) setPhones(response.result)
    })
  }, [])
  return phones
}

function Ringing({ made, number, onClose }: { made: MadeCall; number: string; onClose: () => void }) {
  const { call_id: id } = made
  const hangUp = async () => {
    const response = await request('DELETE', `/call/${id}`)
    if (response.ok) onClose()
    else showToast('bad', errorText(response))
  }
  return (
    <>
      <div class="drawer-body">
        <div class="part" role="status">
          <p>
            Your phone rings. When you pick it up, it calls <bdi>{number}</bdi>.
          </p>
          {id === null ? null : (
            <p>
              <a href={routeHref('calls', id)} onClick={onClose}>
                Open the call
              </a>
            </p>
          )}
        </div>
      </div>
      <div class="drawer-foot">
        {id === null ? null : (
          <button type="button" class="button danger" onClick={() => void hangUp()}>
            Hang up
          </button>
        )}
        <span class="push" />
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </>
  )
}
