import { newResolver } from '../../outbound/resolver.ts'
import { type Attempt, type AttemptOptions, newAttempt } from '../sending/attempt.ts'
import { createMqttAttempts, type MqttAttempts } from './mqtt-attempt.ts'

/** The attempts of all webhooks, by HTTP or MQTT. */
type Attempts = {
  readonly attempt: Attempt
  /** Closes the connection that was kept for a webhook, if any. */
  forget(webhookId: number): void
  /** Closes all connections to brokers. */
  stop(): Promise<void>
}

/** Creates the function that makes the attempts of all webhooks. */
export function createAttempts(options: AttemptOptions): Attempts {
  const shared = { ...options, resolve: options.resolve ?? newResolver() }
  const byHttp = newAttempt(shared)
  let byMqtt: MqttAttempts | undefined

  return {
    attempt(request) {
      if (request.target.broker === undefined) return byHttp(request)
      byMqtt ??= createMqttAttempts(shared)
      return byMqtt.attempt(request)
    },
    forget: (webhookId) => byMqtt?.forget(webhookId),
    async stop() {
      byMqtt?.stop()
    },
  }
}
