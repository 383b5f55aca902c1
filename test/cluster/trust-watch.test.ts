import { expect, test } from 'bun:test'
import { newTrustWatch } from '../../src/cluster/trust-watch.ts'
import { createLog } from '../../src/lib/log.ts'

/** A watch over a trust that is over: it ends at once. `ended` resolves when it does. */
function watchOver(what: string[], name: string) {
  const ended = Promise.withResolvers<void>()
  const onEnded = () => {
    what.push(name)
    ended.resolve()
  }
  const watch = newTrustWatch({ trustedUntilUs: () => 0, elapsedUs: () => 1, log: createLog('silent'), onEnded })
  return { watch, ended: ended.promise }
}

test('a heartbeat that is answered after the node has stopped begins no watch', async () => {
  const ended: string[] = []
  const stopped = watchOver(ended, 'stopped')
  const watching = watchOver(ended, 'watching')
  stopped.watch.restart()
  stopped.watch.stop()
  stopped.watch.restart()
  watching.watch.restart()
  await watching.ended
  watching.watch.stop()
  expect(ended).toEqual(['watching'])
})
