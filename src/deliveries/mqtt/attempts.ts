import { newResolver } from '../../outbound/resolver.ts'
import { type Attempt, type AttemptOptions, newAttempt } from '../sending/attempt.ts'
import type { MqttAttempts } from './mqtt-attempt.ts'

/** The attempts of all webhooks, by HTTP or MQTT. */
type Attempts = {
  readonly attempt: Attempt
  /** Closes the connection that was kept for a webhook, if any. */
  forget(webhookId: number): void
  /** Closes all connections to brokers. */
  stop(): Promise<void>
}

/** Creates the function that makes the attempts of all webhooks. The first one to a broker loads the code for MQTT. */
export function createAttempts(options: AttemptOptions): Attempts {
  const shared = { ...options, resolve: options.resolve ?? newResolver() }
  const byHttp = newAttempt(shared)
  let loading: Promise<MqttAttempts> | undefined
  let loaded: MqttAttempts | undefined

  async function load(): Promise<MqttAttempts> {
    const { createMqttAttempts } = await import('./mqtt-attempt.ts')
    loaded = createMqttAttempts(shared)
    return loaded
  }

  return {
    attempt(request) {
      if (request.target.broker === undefined) return byHttp(request)
      if (loaded !== undefined) return loaded.attempt(request)
      loading ??= load()
      return loading.then(({ attempt }) => attempt(request))
    },
    forget: (webhookId) => loaded?.forget(webhookId),
    async stop() {
      if (loading !== undefined) (await loading).stop()
    },
  }
}

/** Loads the code that connects to a broker, which few commands need. */
export const loadBrokerConnection = () => import('./broker-connection.ts')
