/**
 * Limits of templates. Their owners are strangers: no template may cost others anything. Three limits apply, one behind
 * the other. The engine counts the time and size of each step (`engine-limits.ts`); templates are rendered in a thread
 * that is ended from outside if it still works too long (`watched-thread.ts`); and the templates of an account share
 * one budget of time (`budget.ts`).
 */

export const MAX_TEMPLATE_CHARACTERS = 16_384
/** Parsing takes time that grows with the square of the depth. */
export const MAX_DEPTH = 32
/** The CPU time of one rendering. A usual template takes some 30 µs. */
export const MAX_RENDER_MS = 10
export const MAX_RESULT_CHARACTERS = 500_000
/** Characters of text and items of lists that all its filters, tags and outputs may make or read. */
export const MAX_UNITS = 500_000
