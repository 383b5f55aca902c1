/** Returns whether a name has a number already, as `Phone 102` has 102. */
export const nameHas = (name: string, number: string): boolean =>
  name === number ||
  name
    .toLowerCase()
    .split(/[\s()<>]+/)
    .includes(number.toLowerCase())

/** Writes a name with its number, unless the name has it: `Anna 101`, `Phone 102`; `null` without both. */
export const withNumber = (name: string | null, number: string | null): string | null =>
  name === null || number === null || nameHas(name, number) ? (name ?? number) : `${name} ${number}`
