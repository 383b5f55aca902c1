/** For a statement: turns steady time into the wall clock's, and back. */
export const STEPPED = '(SELECT stepped FROM clock)'
