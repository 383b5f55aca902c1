import type { Exchange, Exchanged } from '../../src/outbound/exchange.ts'
import type { Random } from './random.ts'

/** How a token server treats a request. */
type TokenServerMove = 'answer' | 'fail' | 'hang' | 'refuse' | 'rotate'

/** A server of OAuth 2.0 tokens, as strict as one can be: a refresh token that was used before ends all tokens. */
export function createTokenServer(lifetimeS: number | null = 3_600) {
  let issued = 0
  let refreshToken = 'refresh-0'
  let isRevoked = false
  const server = {
    lifetimeS,
    /** The next moves; then it answers. */
    moves: [] as TokenServerMove[],
    access: null as string | null,
    requests: [] as URLSearchParams[],
    inFlight: 0,
    mostInFlight: 0,
    /** The refresh token that it accepts. */
    refreshToken: () => refreshToken,
    isRevoked: () => isRevoked,
    /** The owner connects it anew. Returns the first refresh token. */
    reconnect(): string {
      isRevoked = false
      refreshToken = `refresh-${++issued}`
      return refreshToken
    },
    answer(form: URLSearchParams, move: TokenServerMove): Exchanged {
      if (move === 'fail') return answered(503, { error: 'busy' })
      if (move === 'refuse') return answered(400, { error: 'invalid_scope' })
      const given = form.get('refresh_token')
      if (given !== null && (isRevoked || given !== refreshToken)) {
        isRevoked = true
        server.access = null
        return answered(400, { error: 'invalid_grant', error_description: `${given} is not valid` })
      }
      issued += 1
      server.access = `access-${issued}`
      if (move === 'rotate') refreshToken = `refresh-${issued}`
      return answered(200, {
        access_token: server.access,
        ...(lifetimeS === null ? {} : { expires_in: lifetimeS }),
        ...(move === 'rotate' ? { refresh_token: refreshToken } : {}),
      })
    },
    /** Returns the function that asks it. `wait` is called before and after it has done its part. */
    exchange:
      (wait: () => Promise<void> = async () => {}): Exchange =>
      async ({ body }) => {
        const form = new URLSearchParams(body ?? '')
        server.requests.push(form)
        server.inFlight += 1
        server.mostInFlight = Math.max(server.mostInFlight, server.inFlight)
        try {
          await wait()
          const move = server.moves.shift() ?? 'answer'
          if (move === 'hang')
            return { ...answered(0, null), status: null, text: null, failure: 'no answer within 10 s' }
          return server.answer(form, move)
        } finally {
          await wait()
          server.inFlight -= 1
        }
      },
  }
  return server
}

const answered = (status: number, json: unknown): Exchanged => ({
  status,
  failure: null,
  text: JSON.stringify(json),
  retryAfterMs: null,
  durationMs: 1,
})

export const randomMove = (random: Random): TokenServerMove =>
  random.pick(['answer', 'answer', 'rotate', 'rotate', 'rotate', 'fail', 'hang', 'refuse'] as const)
