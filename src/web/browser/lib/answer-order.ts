/** The order of requests for one thing: an earlier request may be answered later, with an older state. */
type AnswerOrder = {
  /** Numbers a request. Returns the function that tells whether its answer is newer than every answer so far. */
  ask(): () => boolean
}

/** Creates the order of requests for one thing. */
export function createAnswerOrder(): AnswerOrder {
  let asked = 0
  let newest = 0
  return {
    ask() {
      asked += 1
      const number = asked
      return () => {
        if (number <= newest) return false
        newest = number
        return true
      }
    },
  }
}
