/**
 * Limits of templates. Their owners are strangers, and their templates run in this thread: none may cost others
 * anything. The units decide, counted at each step (`engine-limits.ts`); the clock is the net. The templates of an
 * account share one budget of time (`budget.ts`).
 */

export const MAX_TEMPLATE_CHARACTERS = 16_384
/** Parsing takes time that grows with the square of the depth. */
export const MAX_DEPTH = 32
/** The CPU time of the templates of one request, exact to a tick of 4 ms. A usual template takes some 50 µs. */
export const MAX_RENDER_MS = 10
export const MAX_RESULT_CHARACTERS = 500_000
/**
 * Units of text and items of lists that all filters, tags and outputs of one request may make or read, besides one for
 * each character of the event.
 */
export const MAX_UNITS = 50_000
