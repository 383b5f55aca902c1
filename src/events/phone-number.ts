/** A number as the PBX has it, and in E.164 form if that is known. */
export type PhoneNumber = { readonly number: string; readonly e164: string | null }

/** Returns the key by which contacts of a number are found. */
export const keyOf = ({ number, e164 }: PhoneNumber): string => e164 ?? number
