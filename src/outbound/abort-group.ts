/** The attempts of one account, which are aborted together when this node loses it. */
export type AbortGroup = {
  readonly isAborted: boolean
  /** Aborts the attempts in flight, and all later ones. */
  abort(): void
  add(controller: AbortController): void
  remove(controller: AbortController): void
}

/** Creates a group without attempts. A signal for each attempt would cost too much, since an account is rarely lost. */
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
