import { FormError, FormField } from '../../components/form-field.tsx'
import { Logo } from '../../components/icon.tsx'
import { errorText, request } from '../../lib/api.ts'
import { logInWith } from '../../lib/session.ts'
import { useForm } from '../../lib/use-form.ts'

const EMPTY = { password: '', password_confirmation: '' }

/** Lets somebody who was invited choose a password. `code`: of the link. */
export function WelcomeView({ code, onDone }: { code: string; onDone: () => void }) {
  const form = useForm({
    load: EMPTY,
    save: async (value) => {
      const response = await request<{ access_token: string }>('POST', '/auth/welcome', { code, ...value })
      if (!response.ok)
        return { message: errorText(response), errors: response.errors.filter(({ path }) => path !== '/code') }
      onDone()
      logInWith(response.result.access_token, false)
      return { saved: EMPTY }
    },
  })
  const { value, errors, error, isBusy, set } = form
  if (value === null) return null
  return (
    <div class="login">
      <main>
        <div class="brand">
          <Logo />
          <h1>Welcome to Hookswitch</h1>
        </div>
        <p class="hint">Choose a password: with it and your e-mail address you log in from now on.</p>
        <form
          class="stack tight"
          onSubmit={(event) => {
            event.preventDefault()
            void form.submit()
          }}
        >
          <FormField
            label="New password"
            name="password"
            type="password"
            value={value.password}
            onInput={(password) => set({ ...value, password })}
            errors={errors}
            hint="At least 6 characters."
            autoComplete="new-password"
            autoFocus
            required
          />
          <FormField
            label="New password again"
            name="password_confirmation"
            type="password"
            value={value.password_confirmation}
            onInput={(again) => set({ ...value, password_confirmation: again })}
            errors={errors}
            autoComplete="new-password"
            required
          />
          <FormError text={error} />
          <button type="submit" class="button primary" disabled={isBusy}>
            {isBusy ? 'Saving…' : 'Save and log in'}
          </button>
        </form>
      </main>
    </div>
  )
}
