/** The pending deliveries of a kind, to read from, and the order in which an index has one webhook's deliveries. */
type Kind = { readonly from: string; readonly order: string }

/**
 * Returns a statement that reads since when the oldest pending delivery is pending, as `oldest`: of the untried ones
 * and of the next retries, of one webhook (its placeholder) or of all.
 */
export function oldestPendingSql(untried: Kind, retried: Kind, webhook: string | undefined): string {
  const firsts = [untried, retried].map(({ from, order }, kind) => {
    const first = `(SELECT since FROM ${from} AND webhook_id = w.id ORDER BY ${order} LIMIT 1)`
    // Jumps from webhook to webhook in the index: only few have such deliveries.
    const webhooks =
      webhook === undefined
        ? `SELECT min(webhook_id) FROM ${from} UNION ALL
           SELECT (SELECT min(webhook_id) FROM ${from} AND webhook_id > w.id) FROM w${kind} w WHERE w.id IS NOT NULL`
        : `VALUES (${webhook})`
    return { webhooks: `w${kind} (id) AS (${webhooks})`, since: `SELECT ${first} AS since FROM w${kind} w` }
  })
  return `WITH RECURSIVE ${firsts.map(({ webhooks }) => webhooks).join(', ')}
    SELECT min(since) AS oldest FROM (${firsts.map(({ since }) => since).join(' UNION ALL ')}) AS firsts`
}
