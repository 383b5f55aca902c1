/** The attempts of one account, which are aborted together when this node loses it. */
export type AbortGroup = {
  readonly isAborted: boolean
  /** Aborts the attempts that are in flight, and those that are begun later. */
  abort(): void
  add(controller: AbortController): void
  remove(controller: AbortController): void
}

/** Creates a group without attempts. An account is rarely lost: a signal for each attempt would cost too much. */
export function newAbortGroup(): AbortGroup {
  const controllers = new Set<AbortController>()
  let isAborted = false
  return {
    get isAborted() {
      return isAborted
    },
    abort() {
      isAborted = true
      for (const controller of controllers) controller.abort(new DOMException('another node sends it', 'AbortError'))
      controllers.clear()
    },
    add: (controller) => void controllers.add(controller),
    remove: (controller) => void controllers.delete(controller),
  }
}
